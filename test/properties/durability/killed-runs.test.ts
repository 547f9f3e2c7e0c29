import assert from 'node:assert/strict';
import { it } from 'node:test';
import { noSandbox } from '../../code.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { killInFirstMoments } from './killed-runs.testing.ts';
import { seededRandom } from './random.testing.ts';

// `npm run soak -- kills 200` kills more of them.
it(
  'of runs whose server is killed in their first 20 ms, none has run without a record',
  { skip: noSandbox },
  async (t) => {
    const { ran, unknown } = await killInFirstMoments({ kills: 12, random: seededRandom(3) });
    t.diagnostic(`${ran} runs had begun`);
    assert.deepEqual(unknown, []);
    assert.ok(ran >= 6, `only ${ran} runs had begun`);
    recordProof('D9:row-before-the-code');
  },
);
