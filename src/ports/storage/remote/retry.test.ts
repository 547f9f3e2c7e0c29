import assert from 'node:assert/strict';
import { it } from 'node:test';
import { retryWithBackoff, retryLimits, type RetryLimits } from './http.ts';
import type { StoreRefusal } from './remote.ts';

const limits: RetryLimits = {
  tries: 4,
  firstPauseMs: 1,
  longestPauseMs: 2,
  longestAskedMs: 20_000,
  totalMs: 10_000,
};

const good = { refusal: null, headers: {} };
const refusing = (status: number, code = '', headers = {}) => ({
  refusal: { status, code, requestId: '' } satisfies StoreRefusal as StoreRefusal | null,
  headers,
});
const failing = (code: string): Error => Object.assign(new Error('failed'), { code });

/** How often the work was done until there was an outcome. */
async function triesOf(
  work: (attempt: number) => Promise<typeof good>,
  signal?: AbortSignal,
): Promise<number> {
  let tries = 0;
  await retryWithBackoff(limits, (attempt) => work((tries = attempt)), signal).catch(() => null);
  return tries;
}

it('tries again what may pass, as often as it is allowed to', async () => {
  for (const status of [408, 429, 500, 502, 503, 504])
    assert.equal(await triesOf(async () => refusing(status) as never), 4, `${status}`);
  for (const code of ['SlowDown', 'RequestTimeout', 'ServerBusy'])
    assert.equal(await triesOf(async () => refusing(400, code) as never), 4, code);
  for (const code of ['ECONNRESET', 'ECONNREFUSED', 'ETIMEDOUT', 'EPIPE', 'EAI_AGAIN'])
    assert.equal(await triesOf(async () => Promise.reject(failing(code))), 4, code);
});

it('does not try again what will not pass', async () => {
  for (const status of [301, 400, 403, 404, 409, 412, 416])
    assert.equal(await triesOf(async () => refusing(status) as never), 1, `${status}`);
  for (const code of ['DEPTH_ZERO_SELF_SIGNED_CERT', 'HPE_INVALID_CONSTANT', 'ERR_INVALID_URL', ''])
    assert.equal(await triesOf(async () => Promise.reject(failing(code))), 1, code);
});

it('gives the first good answer, and the last bad one as it was', async () => {
  assert.equal(await triesOf(async (attempt) => (attempt < 3 ? (refusing(503) as never) : good)), 3);
  const last = await retryWithBackoff(limits, async (attempt) => refusing(503, `try${attempt}`));
  assert.equal(last.refusal?.code, 'try4');
  await assert.rejects(
    retryWithBackoff(limits, async () => Promise.reject(failing('EPIPE'))),
    { code: 'EPIPE' },
  );
});

it('waits as long as it is asked to, but does not begin a wait that it has no time for', async () => {
  const asking = (after: string) => async () => refusing(503, '', { 'retry-after': after }) as never;
  assert.equal(await triesOf(asking('0')), 4);
  assert.equal(await triesOf(asking('3600')), 1);
  assert.equal(await triesOf(asking(new Date(Date.now() + 3_600_000).toUTCString())), 1);
  assert.equal(await triesOf(asking('nonsense')), 4);
});

it('a pause that is asked for is cut to what a store may ask for', async () => {
  const brief = { ...limits, longestAskedMs: 1 };
  for (const after of ['3600', new Date(Date.now() + 3_600_000).toUTCString()]) {
    let tries = 0;
    await retryWithBackoff(brief, async (attempt) => {
      tries = attempt;
      return refusing(503, '', { 'retry-after': after });
    });
    assert.equal(tries, 4);
  }
  assert.equal(retryLimits.longestAskedMs, 10_000);
});

it('ends with the reason of the signal at once, in the midst of a wait or of the work', async () => {
  const stop = new AbortController();
  const patient = { ...limits, tries: 100, firstPauseMs: 9000, longestPauseMs: 9000 };
  const waiting = retryWithBackoff(
    patient,
    async () => {
      setImmediate(() => stop.abort(new Error('enough')));
      return refusing(503, '', { 'retry-after': '9' });
    },
    stop.signal,
  );
  await assert.rejects(waiting, /enough/);
  const late = retryWithBackoff(patient, async () => Promise.reject(failing('ECONNRESET')), stop.signal);
  await assert.rejects(late, /enough/);
});
