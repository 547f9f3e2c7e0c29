import assert from 'node:assert/strict';
import { it } from 'node:test';
import { noSandbox } from '../../code.testing.ts';
import { soak, summarize } from './soak.testing.ts';

/** Long ones are for `npm run soak -- MINUTES`. */
const seconds = Number(process.env['WORKCRATE_TEST_SOAK'] ?? 12);

it(`${seconds} s of mixed load, with kills and clients that vanish, lose, double and leave nothing`, async (t) => {
  if (noSandbox !== false) return t.skip(noSandbox);
  const seed = Number(process.env['WORKCRATE_TEST_SEED'] ?? Date.now() % 1_000_000);
  t.diagnostic(`WORKCRATE_TEST_SEED=${seed}`);
  const { ledger, kills } = await soak({ seconds, seed, report: (line) => t.diagnostic(line) });
  assert.deepEqual(ledger.problems, []);
  assert.ok(kills >= 1 && ledger.runs.size > 0 && ledger.files.size > 0, summarize(ledger));
});
