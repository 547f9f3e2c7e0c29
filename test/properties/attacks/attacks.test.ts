import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Sandbox } from '../../../src/ports/sandbox/sandbox.ts';
import { noEngine, startEngine } from '../../../src/ports/sandbox/docker/engine.testing.ts';
import { egressAttacks } from '../../../src/features/network/attacks.testing.ts';
import { attacks, themes } from './all.testing.ts';
import { ordinaryCopy, playAttacks, thisCopy, type Copy, type Results } from './launch.testing.ts';
import { cellOf, cellsOf, scorecard, summary, type Column } from './scorecard.testing.ts';
import { playOnServer, serverAttacks } from './server.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

const page = fileURLToPath(new URL('../../../docs/reference/scorecard.md', import.meta.url));
const isRoot = process.getuid?.() === 0;
const lanes = 2;

const engine = isRoot ? await startEngine() : null;
await using copies = new AsyncDisposableStack();
const here = thisCopy();
const ordinary = isRoot ? copies.use(await ordinaryCopy()) : here;

const play = (copy: Copy, kind: Sandbox['kind'], firstLane: number): Promise<Results> =>
  playAttacks(copy, { kind, lanes, firstLane, docker: kind === 'docker' ? engine : null, word: '' });

// Two by two: much of the time they wait, but a machine that is too busy holds nothing in time.
const [root, docker] = await Promise.all([
  isRoot ? play(here, 'bubblewrap', 0) : null,
  engine === null ? null : play(here, 'docker', 20),
]);
const [other, subprocess] = await Promise.all([
  play(ordinary, 'bubblewrap', 10),
  // Without walls, its attacks would be on the tests themselves where they have the same uid.
  isRoot ? play(here, 'subprocess', 30) : null,
]);
const server = await playOnServer();
await engine?.[Symbol.asyncDispose]();

const columns: Column[] = [
  { title: 'bubblewrap, root', results: root },
  { title: 'bubblewrap, ordinary user', results: other },
  { title: 'docker', results: docker },
  { title: 'subprocess', results: subprocess },
].filter((column): column is Column => column.results !== null);

it('there are more than 80 attacks, each with a name of its own', () => {
  const names = [...attacks, ...serverAttacks].map(({ name }) => name);
  assert.ok(names.length >= 80, `${names.length}`);
  assert.equal(new Set(names).size, names.length);
});

for (const { title, results } of columns)
  describe(`attacks on ${title}`, () => {
    for (const [theme, attacks] of Object.entries(themes))
      it(`nothing gets through a wall that is claimed: ${theme}`, () => {
        const faults = attacks
          .filter((attack) =>
            ['through', 'failed'].includes(cellOf(attack, results, results.verdicts.get(attack.name))),
          )
          .map(({ name, wall }) => ({ name, wall, ...results.verdicts.get(name) }));
        assert.deepEqual(faults, []);
        recordProof('D15:attacks-are-stopped');
      });
  });

it('attacks on docker', { skip: isRoot && docker === null && noEngine }, () => {});

describe('attacks through the whole server', () => {
  for (const { name, how } of server) it(name, () => assert.equal(how, null));
});

it('the judges see what gets through where there are no walls', { skip: !isRoot && 'needs two uids' }, () => {
  const wrong = attacks
    .map(({ name, withoutWalls }) => ({ name, withoutWalls, is: subprocess?.verdicts.get(name)?.state }))
    .filter(({ withoutWalls }) => withoutWalls === 'through' || withoutWalls === 'held')
    .filter(({ withoutWalls, is }) => is !== withoutWalls);
  assert.deepEqual(wrong, []);
});

it('the page in docs tells of these attacks, and the truth', () => {
  if (process.env['WORKCRATE_WRITE_SCORECARD'] === '1') writeFileSync(page, scorecard(columns, server));
  const told = cellsOf(readFileSync(page, 'utf8'));
  const names = [...attacks, ...serverAttacks, ...egressAttacks].map(({ name }) => name);
  assert.deepEqual([...told.keys()], names);
  const { title, results } = columns[0]!;
  const wrong = attacks
    .map((attack) => ({
      name: attack.name,
      told: told.get(attack.name)?.get(title),
      is: cellOf(attack, results, results.verdicts.get(attack.name)),
    }))
    .filter(({ told, is }) => told !== is);
  assert.deepEqual(wrong, []);
});

after(() => console.log(summary(columns)));
