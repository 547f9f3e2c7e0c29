import { killInFirstMoments } from '../test/properties/durability/killed-runs.testing.ts';
import { seededRandom } from '../test/properties/durability/random.testing.ts';
import { soak } from '../test/properties/soak/soak.testing.ts';

/**
 * Mixed load on a real server for some minutes, with kills, slow clients and clients that vanish:
 *
 *   npm run soak -- 10            ten minutes
 *   npm run soak -- 10 1234       with the random numbers of an earlier one
 *   npm run soak -- kills 200     no load: kills in the first 20 ms of five runs each
 *
 * Ends with 1 if anything was lost, doubled, changed or left behind.
 */
const report = (line: string): void => void process.stdout.write(`${line}\n`);
if (process.argv[2] === 'kills') {
  const kills = Number(process.argv[3] ?? 200);
  const { ran, unknown } = await killInFirstMoments({ kills, random: seededRandom(kills), report });
  report(`${kills} kills: ${ran} runs had begun, ${unknown.length} of them without a record`);
  for (const one of unknown) report(`PROBLEM: ${one}`);
  process.exit(unknown.length === 0 ? 0 : 1);
}
const [minutes = '1', seed = String(Date.now() % 1_000_000)] = process.argv.slice(2);
if (!(Number(minutes) > 0) || !Number.isInteger(Number(seed))) {
  process.stderr.write('usage: npm run soak -- MINUTES [SEED]\n');
  process.exit(2);
}

report(`a soak of ${minutes} minutes, seed ${seed}`);
const { ledger, kills, footprints } = await soak({
  seconds: Number(minutes) * 60,
  seed: Number(seed),
  report,
});

for (const [name, count] of ledger.done) report(`  ${name}: ${count}`);
for (const name of Object.keys(footprints[0]) as (keyof (typeof footprints)[0])[])
  report(`  ${name}: ${footprints[0][name]} → ${footprints[1][name]}`);
report(
  `kills: ${kills}; runs ${ledger.runs.size}, crates ${ledger.crates.size}, deletions ${ledger.deleted.size}, revocations ${ledger.revoked.size}, single uses ${ledger.used.size}`,
);
const kinds = Map.groupBy(ledger.problems, (problem) => problem);
for (const [problem, all] of [...kinds].slice(0, 50)) report(`PROBLEM, ${all.length} times: ${problem}`);
report(
  ledger.problems.length === 0
    ? 'nothing lost, nothing doubled, nothing leaked'
    : `${ledger.problems.length} problems`,
);
process.exitCode = ledger.problems.length === 0 ? 0 : 1;
