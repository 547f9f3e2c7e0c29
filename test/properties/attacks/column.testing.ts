import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { attacks, themes } from './all.testing.ts';
import type { Attack } from './attack.testing.ts';
import type { Results } from './launch.testing.ts';
import {
  cellOf,
  cellsOf,
  page,
  scoresVariable,
  summarizeColumn,
  type Column,
  type Scores,
} from './scorecard.testing.ts';

/** Two by two: much of the time they wait, but a machine that is too busy enforces nothing in time. */
export const lanes = 2;

/** Nothing that was played on this backend got through a wall that it claims. */
export function testColumn({ title, results }: Column): void {
  describe(`attacks on ${title}`, () => {
    for (const [theme, attacks] of Object.entries(themes))
      it(`nothing gets through a wall that is claimed: ${theme}`, () => {
        assert.deepEqual(listFaults(results, attacks), []);
      });

    after(async () => {
      console.log(summarizeColumn({ title, results }));
      await keepScores(title, {
        column: { title, results: { ...results, verdicts: [...results.verdicts] } },
      });
    });
  });
}

/** What got through a wall that is claimed, or could not be tried. */
export const listFaults = (results: Results, played: readonly Attack[]) =>
  played
    .filter((attack) =>
      ['through', 'failed'].includes(cellOf(attack, results, results.verdicts.get(attack.name))),
    )
    .map(({ name, wall }) => ({ name, wall, ...results.verdicts.get(name) }));

/** The page in docs says of this backend what was seen. */
export function testPage({ title, results }: Column): void {
  it('the page in docs tells the truth of these attacks', () => {
    const told = cellsOf(readFileSync(page, 'utf8'));
    const wrong = attacks
      .map((attack) => ({
        name: attack.name,
        told: told.get(attack.name)?.get(title),
        is: cellOf(attack, results, results.verdicts.get(attack.name)),
      }))
      .filter(({ told, is }) => told !== is);
    assert.deepEqual(wrong, []);
  });
}

/** Where the page is to be written again, what was seen is kept for that. */
export async function keepScores(name: string, scores: Scores): Promise<void> {
  const folder = process.env[scoresVariable];
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${name}.json`), JSON.stringify(scores));
}
