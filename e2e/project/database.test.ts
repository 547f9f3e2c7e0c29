import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const sources = globSync('src/**/*.ts', { cwd: root })
  .filter((file) => !/\.(test|testing|contract)\.ts$/.test(file))
  .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));

/** A comparison with the name of a backend: a room that decides by it knows what is below the port. */
function decidesByBackend(text: string): boolean {
  return /[!=]==?\s*'(?:sqlite|postgres)'|'(?:sqlite|postgres)'\s*[!=]==?|case\s+'(?:sqlite|postgres)'/.test(
    text,
  );
}

test('nothing is decided by which database it is', () => {
  const found = sources.filter(({ text }) => decidesByBackend(text)).map(({ file }) => file);
  assert.deepEqual(found, [], 'declare what differs in database.ts, or put the SQL into database/dialect.ts');
});

test('a decision that was planted is found', () => {
  for (const planted of [
    `if (database.kind === 'sqlite') await dropLeases(database);`,
    `const isShared = 'postgres' !== kind;`,
    `switch (kind) {\n  case 'sqlite':\n}`,
  ])
    assert.ok(decidesByBackend(planted), planted);
});
