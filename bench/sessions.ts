/**
 * Sessions through the real program, against a tool that does nothing, a bare interpreter, and ipykernel, which is asked
 * without MCP and without a sandbox: `node bench/sessions.ts [rounds]`. All in turns. Needs bubblewrap; for ipykernel,
 * Debian's python3-ipykernel.
 */
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { startProgram, temporaryFolder } from './program.ts';
import { median } from './timed.ts';
import { reportFigure, toDifferences, toRatios } from './figures.ts';

const rounds = Number(process.argv[2] ?? 200);
const starts = Math.max(5, Math.floor(rounds / 10));
const python = '/usr/bin/python3';

using folder = temporaryFolder();
await using program = await startProgram({ data: folder.path });
const kernel = await startKernel();
const session_id = 'bench';
const cell = (code: string) => program.call('send_to_session', { session_id, code });
const manage = (action: string) => program.call('manage_session', { session_id, action, name: 'a' });

const time = async (act: () => unknown): Promise<number> => {
  const began = performance.now();
  await act();
  return performance.now() - began;
};

await program.call('start_session', { language: 'python', name: session_id });
await cell('x = 0');
await kernel?.ask('x = 0');
// Not before the libraries are loaded, which takes a processor for a while.
await pause(5000);

const seen = { nothing: [] as number[], cell: [] as number[], kernel: [] as number[] };
for (let round = -20; round < rounds; round++) {
  const taken = {
    nothing: await time(() => program.call('guide_cache_file', {})),
    cell: await time(() => cell('x += 1')),
    kernel: (await kernel?.ask('x += 1')) ?? 0,
  };
  // The first ones are for what is still to be compiled.
  if (round >= 0) for (const name of ['nothing', 'cell', 'kernel'] as const) seen[name].push(taken[name]);
}
const [nothing, cells, kernels] = [median(seen.nothing), median(seen.cell), median(seen.kernel)];
reportFigure('sessions: a cell over a tool that does nothing, ms', toDifferences(seen.cell, seen.nothing));
tell(
  'a cell, p50',
  `${cells.toFixed(2)} ms, ${(cells - nothing).toFixed(2)} over a tool that does nothing (${nothing.toFixed(2)})`,
);
if (kernel !== null) tell('the same in ipykernel', `${kernels.toFixed(2)} ms (${ratio(cells, kernels)})`);

const begun = { session: [] as number[], bare: [] as number[], kernel: [] as number[] };
for (let round = 0; round < starts; round++) {
  const name = `start-${round}`;
  begun.session.push(await time(() => program.call('start_session', { language: 'python', name })));
  await program.call('close_session', { session_id: name });
  await pause(200);
  begun.bare.push(await time(() => spawnSync(python, ['-c', 'pass'])));
  if (kernel !== null && round < 5) begun.kernel.push(await kernel.ask('start'));
}
const [start, bare] = [median(begun.session), median(begun.bare)];
reportFigure('sessions: start × a bare interpreter', toRatios(begun.session, begun.bare));
tell(
  'start of a session',
  `${start.toFixed(1)} ms; a bare interpreter ${bare.toFixed(1)} ms (${ratio(start, bare)})`,
);
if (kernel !== null) tell('start of ipykernel', `${median(begun.kernel).toFixed(0)} ms`);

await cell('import os\ndata = bytearray(os.urandom(1 << 20) * 50)');
const back = { checkpoint: [] as number[], restore: [] as number[] };
for (let round = 0; round < starts; round++) {
  back.checkpoint.push(await time(() => manage('checkpoint')));
  await cell('data[::4096] = bytes(len(data) // 4096)');
  back.restore.push(await time(() => manage('restore')));
}
for (const what of ['checkpoint', 'restore'] as const)
  tell(`${what} of 50 MB`, `${median(back[what]).toFixed(1)} ms, the whole call`);
kernel?.end();

function tell(what: string, text: string): void {
  console.log(`${what}: ${text}`);
}

function ratio(one: number, other: number): string {
  return `${(one / other).toFixed(2)} ×`;
}

/** Null, with a line that says so, where ipykernel is not installed. */
async function startKernel() {
  const child = spawn(python, [join(import.meta.dirname, 'ipykernel-peer.py')], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { PATH: '/usr/bin:/bin', HOME: folder.path },
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  if ((await lines.next()).value !== 'ready') {
    console.log('there is no ipykernel here: apt-get install python3-ipykernel python3-jupyter-client');
    return null;
  }
  return {
    async ask(line: string): Promise<number> {
      child.stdin.write(`${line}\n`);
      return Number((await lines.next()).value);
    },
    end: () => child.stdin.end(),
  };
}
