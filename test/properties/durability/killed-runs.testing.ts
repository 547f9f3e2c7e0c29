import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { serve, temporaryFolder, type Program } from '../../behaviour/cli/program.testing.ts';

const env = { WORKCRATE_SANDBOX: 'bubblewrap', WORKCRATE_SESSION_IDLE: '3600' };

/** Ways to have code run. Each makes a file of its number in /workspace/made as the first thing that it does. */
const ways = {
  foreground: (program: Program, code: string) => program.call('execute_code', { language: 'bash', code }),
  background: (program: Program, code: string) =>
    program.call('execute_code', { language: 'bash', code, background: true }),
  cell: (program: Program, code: string) =>
    program.call('execute_code', { language: 'bash', code, session_id: 'kept' }),
  python: (program: Program, code: string) =>
    program.call('execute_code', {
      language: 'python',
      code: `import os\nos.system(${JSON.stringify(code)})`,
    }),
  command: (program: Program, command: string) => program.call('execute_bash', { command }),
} as const;

type Way = keyof typeof ways;
const allWays = Object.keys(ways) as Way[];

export interface KilledRuns {
  /** Kills after which code had run. */
  readonly ran: number;
  /** Those of them of which the next server knew nothing. */
  readonly unknown: readonly string[];
}

export interface KillOptions {
  readonly kills: number;
  readonly random: () => number;
  /** How many runs begin at once before each kill. */
  readonly atOnce?: number;
  readonly report?: (line: string) => void;
}

/**
 * Kills a server again and again in the first 20 ms of runs, half of the time just when a file of theirs appears, and looks
 * for runs that left a file and no record.
 */
export async function killInFirstMoments({
  kills,
  random,
  atOnce = 5,
  report = () => {},
}: KillOptions): Promise<KilledRuns> {
  await using folder = await temporaryFolder();
  const data = join(folder.path, 'data');
  const serveHere = () => serve(['--data', data], { env });
  const unknown: string[] = [];
  const marks = new Set<string>();
  let ran = 0;
  let program = await serveHere();
  await program.call('execute_bash', { command: 'mkdir -p made' });
  const made = findMade(data);
  for (let kill = 0; kill < kills && unknown.length < 20; kill++) {
    // Interpreters wait, as they do when somebody works.
    await Promise.all([ways.cell(program, 'true'), ways.python(program, 'true')]);
    const begun = Array.from({ length: atOnce }, (_, at) => {
      const way = allWays[(kill + at) % allWays.length]!;
      return { way, mark: `m${kill}x${at}x` };
    });
    const before = readdirSync(made).length;
    const calls = begun.map(({ way, mark }) =>
      ways[way](program, `touch /workspace/made/${mark}; sleep 5`).catch(() => null),
    );
    if (kill % 2 === 0) await pause(random() * 20);
    else await waitForFile(made, before);
    await program.end('SIGKILL');
    await Promise.all(calls);
    program = await serveHere();
    for (const mark of readdirSync(made)) {
      if (marks.has(mark)) continue;
      marks.add(mark);
      ran++;
      const { data: found } = await program.call('search_executions', { text: mark });
      const way = begun.find((one) => one.mark === mark)?.way;
      if (found.executions.length !== 1) unknown.push(`${mark} (${way}): ${found.executions.length} records`);
    }
    if (kill % 20 === 19)
      report(`${kill + 1} kills, ${ran} runs had begun, ${unknown.length} without a record`);
  }
  await program.end('SIGTERM');
  return { ran, unknown };
}

function findMade(data: string): string {
  const places = join(data, 'places');
  const [place] = readdirSync(places);
  const made = join(places, place!, 'workspace', 'made');
  assert.ok(existsSync(made), made);
  return made;
}

/** As quickly as it can be seen: a timer would come a millisecond later. */
async function waitForFile(folder: string, before: number): Promise<void> {
  const deadline = performance.now() + 5000;
  while (readdirSync(folder).length === before && performance.now() < deadline)
    await new Promise((resolve) => setImmediate(resolve));
}
