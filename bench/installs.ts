/**
 * Packages through the real program: what an environment adds to a run, against the same run of the same user before, in
 * turns with a user of another server who has none; and installs of one set against the first: `node bench/installs.ts
 * [rounds]`. The index is one of 20 wheels on loopback. Needs bubblewrap and pip.
 */
import { startPythonIndex, type TestWheel } from '../src/features/packages/registries.testing.ts';
import { startProgram, temporaryFolder } from './program.ts';
import { median, timed } from './timed.ts';

const rounds = Number(process.argv[2] ?? 200);

/** A package as large as usual ones: 150 modules, 1 MB. */
const wheels: TestWheel[] = Array.from({ length: 20 }, (_, at) => ({
  name: `bench${at}`,
  version: '1.0',
  files: Object.fromEntries(
    ['__init__', ...Array.from({ length: 150 }, (_none, number) => `part${number}`)].map((name) => [
      `bench${at}/${name}.py`,
      `"""${'A line of documentation. '.repeat(260)}"""\n`,
    ]),
  ),
}));
const names = wheels.map(({ name }) => name);

await using index = await startPythonIndex(wheels);
using folders = temporaryFolder();
const flags = ['--pip-index-url', index.url];
await using bare = await startProgram({ data: `${folders.path}/bare`, flags });
await using full = await startProgram({ data: `${folders.path}/full`, flags });

const install = async (): Promise<void> =>
  void (await full.call('install_packages', { language: 'python', names }));
const remove = async (): Promise<void> =>
  void (await full.call('remove_packages', { language: 'python', names }));
const [first] = await timed(install, 1);
const [again] = await timed(install, 1);
const anew: number[] = [];
for (let round = 0; round < 3; round++) {
  await remove();
  anew.push(...(await timed(install, 1)));
}

const run = (program: typeof bare, code: string) => async (): Promise<void> =>
  void (await program.call('execute_code', { language: 'python', code }));
const seen = { without: [] as number[], with: [] as number[], importing: [] as number[] };
for (let round = -10; round < rounds; round++) {
  const [without] = await timed(run(bare, 'pass'), 1);
  const [having] = await timed(run(full, 'pass'), 1);
  const [importing] = await timed(run(full, 'import bench0'), 1);
  if (round < 0) continue;
  seen.without.push(without!);
  seen.with.push(having!);
  seen.importing.push(importing!);
}
const [without, having, importing] = [median(seen.without), median(seen.with), median(seen.importing)];
console.table({
  'first install (s)': (first! / 1000).toFixed(2),
  'the same call again (asked for: at most 0.2 ×)': `${(again! / first!).toFixed(4)} × (${again!.toFixed(1)} ms)`,
  'removed, and installed again from the cache': `${(median(anew) / first!).toFixed(2)} ×`,
  'a run without packages (ms)': without.toFixed(2),
  'a run with packages (asked for: at most 2 ms more)': `${having.toFixed(2)} (${(having - without).toFixed(2)} more)`,
  'a run that imports one of them (ms)': importing.toFixed(2),
});
