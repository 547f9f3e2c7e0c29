/**
 * Everything that users, data and logs see, one fact a line. Texts for people are not in it. Where a change of it is
 * meant, write it anew and read the difference:
 *
 *   WORKCRATE_WRITE_CONTRACT=1 node --test test/project/contract.test.ts
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { readCommandFacts, readServerFacts, readSettingFacts } from './contract-program.testing.ts';
import { readSourceFacts } from './contract-source.testing.ts';

/** Metrics of the process, such as its open files, are others elsewhere. */
const skip = process.platform === 'linux' ? false : 'the snapshot is of Linux';
const snapshot = join(import.meta.dirname, 'contract.snapshot.txt');

it(
  'tools, settings, errors, routes, metrics, log events, tables and lines are those of the snapshot',
  { skip },
  async () => {
    const shown = await Promise.all([readSettingFacts(), readCommandFacts(), readServerFacts()]);
    const facts = [readSourceFacts(), ...shown].flat();
    const lines = [...new Set(facts.map(([fact, value]) => `${fact}: ${JSON.stringify(value)}`))].toSorted();
    if (process.env['WORKCRATE_WRITE_CONTRACT'] === '1') writeFileSync(snapshot, `${lines.join('\n')}\n`);
    const expected = new Set(readFileSync(snapshot, 'utf8').trimEnd().split('\n'));
    const found = new Set(lines);
    const differences = [
      ...[...expected.difference(found)].map((line) => `- ${line}`),
      ...[...found.difference(expected)].map((line) => `+ ${line}`),
    ];
    assert.deepEqual(
      differences,
      [],
      'the contract has changed: see the head of test/project/contract.test.ts',
    );
  },
);
