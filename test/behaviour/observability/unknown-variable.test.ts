import assert from 'node:assert/strict';
import { it } from 'node:test';
import { run } from '../cli/program.testing.ts';

it('a misspelt variable is warned of at the start, with the setting that was meant and without its value', async () => {
  const env = { WORKCRATE_PROT: '1234hush', WORKCRATE_TEST_SEED: '1', WORKCRATE_NO_INSTALL: '1' };
  const { code, stdout, stderr } = await run(['--print-config'], { env });
  assert.equal(code, 0);
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.equal(lines.length, 1);
  const { time: _time, ...line } = lines[0]!;
  assert.deepEqual(line, {
    level: 'warn',
    event: 'config.unknown_variable',
    variable: 'WORKCRATE_PROT',
    did_you_mean: 'WORKCRATE_PORT',
  });
  assert.doesNotMatch(stdout + stderr, /1234hush/);
});
