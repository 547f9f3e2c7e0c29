import { createLog } from '../../../src/platform/observability/log.ts';
import { openSandbox } from '../../../src/ports/sandbox/open.ts';
import type { EnforcedClaims, RunLimitSettings, Sandbox } from '../../../src/ports/sandbox/sandbox.ts';
import { attacks } from './all.testing.ts';
import { graceMs } from './attack.testing.ts';
import { perform, type Verdict } from './perform.testing.ts';
import { setScene } from './scene.testing.ts';

/** What a round is asked to do, as JSON in its first argument. */
export interface Task {
  readonly kind: Sandbox['kind'];
  /** Every nth attack, beginning with this one. Lanes go on side by side. */
  readonly lane: number;
  readonly lanes: number;
  readonly firstLane: number;
  readonly docker: { readonly socket: string; readonly image: string } | null;
  /** Only attacks with this word in their names. */
  readonly word: string;
}

/** What it writes, a line of JSON each. */
export type Line =
  | { readonly holds: EnforcedClaims }
  | { readonly attack: string; readonly verdict: Verdict; readonly ms: number };

const megabyte = 1024 * 1024;
const limits: RunLimitSettings = {
  memoryBytes: 192 * megabyte,
  processes: 48,
  cpus: 1,
  fileBytes: 32 * megabyte,
  diskBytes: 64 * megabyte,
  tmpBytes: 16 * megabyte,
  graceMs,
};

if (import.meta.main) await playRound(JSON.parse(process.argv[2]!) as Task);

/** Plays attacks on one backend, as the user that this process has. */
async function playRound(task: Task): Promise<void> {
  const { kind, lane, lanes, firstLane, word } = task;
  await using scene = await setScene(firstLane + lane);
  const { tools, skills } = scene.open;
  await using sandbox = await openSandbox({
    kind,
    allowed: [kind],
    python: null,
    docker: { socket: '', image: '', ...task.docker, runtime: null },
    instance: scene.nonce,
    limits,
    network: 'none',
    mostRuns: 8,
    mostRunsOfUser: 7,
    tools,
    skills,
    warm: { python: 2, node: 1, bash: 2 },
    pythonPreload: ['numpy', 'pandas', 'matplotlib.pyplot'],
    log: createLog('error'),
  });
  tell({ holds: sandbox.holds });
  const mine = attacks.filter(({ name }, at) => at % lanes === lane && name.includes(word));
  for (const attack of mine) {
    const began = performance.now();
    const verdict = await perform(attack, { scene, sandbox });
    tell({ attack: attack.name, verdict, ms: Math.round(performance.now() - began) });
  }
}

function tell(line: Line): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
