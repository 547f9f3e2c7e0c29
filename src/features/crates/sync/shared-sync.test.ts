import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSharedSync } from './shared-sync.ts';
import type { SourceReport, SyncRequest } from './sync.ts';

const counts = { seen: 0, read: 0, unchanged: 0, broken: 0, removed: 0 };
const reportOf = (source: string): SourceReport => ({ source, state: 'ok', reason: null, ...counts });

/** Syncs that end when the test says so. */
function makeSyncs() {
  const started: (SyncRequest & { end: (source: string) => void })[] = [];
  const shared = createSharedSync((request) => {
    const { promise, resolve, reject } = Promise.withResolvers<SourceReport[]>();
    request.signal.addEventListener('abort', () => reject(request.signal.reason));
    started.push({ ...request, end: (source) => resolve([reportOf(source)]) });
    return promise;
  });
  const heard: string[][] = [];
  const ask = (forget = false, signal = new AbortController().signal) => {
    const own: string[] = [];
    heard.push(own);
    return shared({ signal, forget, report: ({ source }) => void own.push(source) });
  };
  return { started, heard, ask };
}

test('who asks during a sync joins it, hears its progress, and gets its result', async () => {
  const { started, heard, ask } = makeSyncs();
  const first = ask();
  started[0]!.report(reportOf('a'));
  const second = ask();
  started[0]!.report(reportOf('b'));
  started[0]!.end('c');
  assert.deepEqual(await first, { reports: [reportOf('c')], joined: false });
  assert.deepEqual(await second, { reports: [reportOf('c')], joined: true });
  assert.deepEqual([started.length, heard], [1, [['a', 'b'], ['b']]]);
  const third = ask();
  started[1]!.end('d');
  assert.equal((await third).joined, false);
});

test('a sync goes on for the others if one cancels, and ends when the last one does', async () => {
  const { started, ask } = makeSyncs();
  const [one, two] = [new AbortController(), new AbortController()];
  const first = ask(false, one.signal);
  const second = ask(false, two.signal);
  one.abort();
  await assert.rejects(first, { name: 'AbortError' });
  assert.equal(started[0]!.signal.aborted, false);
  two.abort();
  const next = ask();
  await assert.rejects(second, { name: 'AbortError' });
  assert.equal(started[0]!.signal.aborted, true);
  await new Promise(setImmediate);
  started[1]!.end('x');
  assert.deepEqual(await next, { reports: [reportOf('x')], joined: false });
});

test('what forgets other sources does not join a sync that keeps them, but the other way round', async () => {
  const { started, ask } = makeSyncs();
  const first = ask(false);
  const forgetting = ask(true);
  assert.equal(started.length, 1);
  started[0]!.end('a');
  await first;
  await new Promise(setImmediate);
  const third = ask(false);
  assert.deepEqual(
    started.map(({ forget }) => forget),
    [false, true],
  );
  started[1]!.end('b');
  assert.deepEqual([(await forgetting).joined, (await third).joined], [false, true]);
});

test('all who joined a sync that fails are told why, and the next one starts anew', async () => {
  let runs = 0;
  const shared = createSharedSync(async () => {
    if (++runs === 1) throw new Error('the disk is gone');
    return [];
  });
  const request = { signal: new AbortController().signal, forget: false, report: () => {} };
  const ends = await Promise.allSettled([shared(request), shared(request)]);
  assert.deepEqual(
    ends.map((end) => end.status === 'rejected' && (end.reason as Error).message),
    ['the disk is gone', 'the disk is gone'],
  );
  assert.deepEqual(await shared(request), { reports: [], joined: false });
});
