/**
 * Python with its libraries loaded in advance, against runs that import them, and against a bare interpreter outside of
 * any sandbox: `node bench/libraries.ts [rounds]`. All three in turns in every round. Needs bubblewrap, and numpy, pandas
 * and matplotlib for /usr/bin/python3.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startProgram, temporaryFolder, type Program } from './program.ts';
import { median } from './timed.ts';

const rounds = Number(process.argv[2] ?? 9);

const timed = (code: string): string =>
  `import time; start = time.perf_counter()\n${code}\nprint((time.perf_counter() - start) * 1000)`;
const plot =
  'import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.title("squares")\nplt.savefig("plot.png")\nplt.close()';
const tasks = {
  'import pandas': timed('import pandas'),
  'import numpy, pandas, matplotlib.pyplot': timed('import numpy, pandas, matplotlib.pyplot'),
  'plot to PNG, import included': timed(plot),
} as const;
const plain = 'print(42)';

using folder = temporaryFolder();
const start = async (name: string, flags: readonly string[]): Promise<Program> => {
  const data = join(folder.path, name);
  mkdirSync(data);
  return startProgram({ data, flags });
};
await using loaded = await start('loaded', []);
await using cold = await start('cold', ['--python-preload', 'none']);
const home = join(folder.path, 'home');
mkdirSync(home);
/** Its home folder is kept, and so is the list of fonts that matplotlib writes there. */
const runBare = (code: string): number =>
  Number(
    execFileSync('/usr/bin/python3', ['-c', code], { cwd: home, env: { HOME: home }, encoding: 'utf8' }),
  );

const runOn = async (program: Program, code: string): Promise<{ inside: number; call: number }> => {
  const began = performance.now();
  const { data } = await program.call('execute_code', { language: 'python', code });
  const call = performance.now() - began;
  // So that an interpreter waits for the next one.
  await pause(150);
  return { inside: Number(data['stdout']), call };
};

// Until the libraries are loaded; and what is compiled in the first round is not counted.
while ((await runOn(loaded, timed('import pandas'))).inside > 50) await pause(500);
for (const code of Object.values(tasks)) {
  runBare(code);
  await runOn(cold, code);
  await runOn(loaded, code);
}

for (const [name, code] of Object.entries(tasks)) {
  const seen = { loaded: [] as number[], cold: [] as number[], bare: [] as number[] };
  const calls = { loaded: [] as number[], cold: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    const [warm, without] = [await runOn(loaded, code), await runOn(cold, code)];
    seen.loaded.push(warm.inside);
    seen.cold.push(without.inside);
    calls.loaded.push(warm.call);
    calls.cold.push(without.call);
    seen.bare.push(runBare(code));
  }
  const [a, b, c] = [median(seen.loaded), median(seen.cold), median(seen.bare)];
  console.log(
    `${name}: ${a.toFixed(2)} ms; without ${b.toFixed(0)} ms (${(a / b).toFixed(4)} ×); ` +
      `bare interpreter ${c.toFixed(0)} ms (${(a / c).toFixed(4)} ×); ` +
      `whole call ${median(calls.loaded).toFixed(0)} and ${median(calls.cold).toFixed(0)} ms ` +
      `(${(median(calls.loaded) / median(calls.cold)).toFixed(3)} ×)`,
  );
}

const seen = { loaded: [] as number[], cold: [] as number[] };
for (let round = 0; round < rounds * 5; round++) {
  seen.loaded.push((await runOn(loaded, plain)).call);
  seen.cold.push((await runOn(cold, plain)).call);
}
const [loadedMs, coldMs] = [median(seen.loaded), median(seen.cold)];
console.log(
  `${plain}: whole call ${loadedMs.toFixed(2)} ms, without ${coldMs.toFixed(2)} ms (${(loadedMs / coldMs).toFixed(3)} ×)`,
);
console.log(
  `memory of all processes of the sandbox: ${countMegabytes(loaded.pid)} MB, without ${countMegabytes(cold.pid)} MB`,
);

/** Pages that several share count once. */
function countMegabytes(pid: number): string {
  const [, ...inside] = listDescendants(pid);
  const kilobytes = inside.map((child) =>
    Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${child}/smaps_rollup`, 'utf8'))?.[1] ?? 0),
  );
  return (kilobytes.reduce((sum, part) => sum + part, 0) / 1024).toFixed(0);
}

function listDescendants(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return [pid, ...children.map(Number).flatMap(listDescendants)];
}
