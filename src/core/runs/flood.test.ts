import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ada, openRoom } from './room.testing.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';

const megabyte = 1024 ** 2;
const each = 256 * megabyte;

test('a flood on both outputs at once is read in little memory', async (t) => {
  await using room = await openRoom({ outputBytes: 16 * megabyte, maxTimeoutMs: 120_000 });
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 20);
  t.after(() => clearInterval(timer));
  const code = `head -c ${each} /dev/zero & head -c ${each} /dev/zero | tr '\\0' '\\377' >&2; wait`;
  const { execution, spooled } = await room.run({ code, timeoutMs: 120_000 });
  assert.deepEqual([execution.stdoutBytes, execution.stderrBytes], [each, each]);
  assert.match(execution.stdout, new RegExp(`truncated ${each - 8000} chars`));
  assert.ok(execution.stderr.startsWith('\ufffd'));
  assert.ok(execution.stdout.length + execution.stderr.length < 17_000);
  const kept = (spooled.stdout?.file?.size ?? 0) + (spooled.stderr?.file?.size ?? 0);
  assert.equal(kept, 16 * megabyte);
  assert.equal((spooled.stdout?.dropped ?? 0) + (spooled.stderr?.dropped ?? 0), 2 * each - kept);
  assert.equal((await room.executions.get(ada, execution.id)).stdoutFile, spooled.stdout?.file?.id);
  // Node's own reading of pipes leaves some 70 MB to be collected; half of what came is far more.
  assert.ok(most - before < each, `${Math.round((most - before) / megabyte)} MB more`);
  recordProof('D7:bounded-while-read');
});
