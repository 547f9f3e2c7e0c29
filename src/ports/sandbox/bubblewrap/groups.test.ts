import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { createLog } from '../../../platform/observability/log.ts';
import { collectText } from '../../../platform/streams.ts';
import { openCgroups, parseOwnGroups } from '../cgroups/cgroups.ts';
import { v2Base } from '../cgroups/versions.ts';
import { testPlaces } from '../places.testing.ts';
import { contractOptions } from '../sandbox.contract.ts';
import { bubblewrapSandbox } from './bubblewrap.ts';

const probe = openCgroups({ name: 'workcrate-probe' });
const skip = probe.kind === 'none' ? `no control groups here: ${probe.holds.processes}` : false;

/** As whoever tidies control groups would do it: removes those of this process in which nobody is. */
function removeEmptyGroups(): number {
  const own = parseOwnGroups(
    readFileSync('/proc/self/mountinfo', 'utf8'),
    readFileSync('/proc/self/cgroup', 'utf8'),
  );
  let removed = 0;
  for (const { version, directory } of own) {
    const base = version === 2 ? v2Base(directory) : directory;
    for (const name of readdirSync(base).filter((name) => name.includes(`-${process.pid}-`)))
      try {
        rmdirSync(join(base, name));
        removed++;
      } catch {
        // Somebody is in it.
      }
  }
  return removed;
}

it('runs go on although somebody removes the control groups that are kept for them', { skip }, async () => {
  const events: string[] = [];
  const log = createLog('warn', (line) => events.push((JSON.parse(line) as { event: string }).event));
  await using places = await testPlaces();
  const warm = { python: 0, node: 0, bash: 0 };
  await using sandbox = await bubblewrapSandbox({ ...contractOptions, warm, log, python: null });
  const place = await places.place('anna');
  const runOnce = async (number: number): Promise<string> => {
    const run = await sandbox.start({
      id: `exec_${number.toString(16).padStart(12, '0')}`,
      user: 'anna',
      place,
      language: 'bash',
      code: 'echo ran',
      workingDir: '/workspace',
      stdin: '',
      timeoutMs: 20_000,
      signal: new AbortController().signal,
    });
    const [out] = await Promise.all([collectText(run.stdout), collectText(run.stderr), run.ended]);
    return out;
  };
  assert.deepEqual(await Promise.all([1, 2, 3, 4].map(runOnce)), Array(4).fill('ran\n'));
  let removed = 0;
  for (let round = 0; round < 5; round++) {
    removed += removeEmptyGroups();
    const numbers = [10, 11, 12, 13].map((number) => number + 10 * round);
    assert.deepEqual(await Promise.all(numbers.map(runOnce)), Array(4).fill('ran\n'));
  }
  assert.ok(removed > 0);
  assert.ok(events.includes('sandbox.group_gone'), events.join());
});
