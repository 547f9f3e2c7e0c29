import assert from 'node:assert/strict';
import { it } from 'node:test';
import { answerEvents, maxUserStreams } from './events.ts';

it('one user has a bounded number of streams, and others have theirs', async () => {
  const leaving = new AbortController();
  const open = (user: string): Response =>
    answerEvents({ caller: { user }, signal: leaving.signal }, async function* (signal) {
      const gone = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => gone.resolve(), { once: true });
      await gone.promise;
      yield null;
    });
  const opened = Array.from({ length: maxUserStreams }, () => open('ada'));
  assert.throws(() => open('ada'), { code: 'too_many_requests', message: /Close some of them/ });
  opened.push(open('bob'));
  await opened[0]!.body!.cancel();
  opened.push(open('ada'));
  assert.throws(() => open('ada'), { code: 'too_many_requests' });
  leaving.abort();
  open('ada');
});
