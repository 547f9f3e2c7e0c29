import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const sources = globSync('{src,packages}/**/*.ts', { cwd: root })
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

/** Which room of `src/` each table belongs to. Only its SQL may name the table; others call its functions. */
const owners: Readonly<Record<string, readonly string[]>> = {
  'core/audit': ['audit_heads', 'audit_waiting'],
  'features/crates': [
    'crate_leases',
    'crate_removals',
    'crate_sequence',
    'crate_sources',
    'crate_trying',
    'crate_vectors',
    'crates',
  ],
  'features/packing': ['packings'],
  'core/runs': ['executions'],
  'features/provenance': ['made_files'],
  'features/gateway': ['gateway_definitions'],
  'core/files': ['files', 'store', 'usage'],
  'core/links': ['bundle_files', 'bundles', 'links', 'outbox', 'uploads'],
  'surfaces/mcp': ['shared_keys'],
  'core/jobs': ['jobs'],
  'features/code-mode': ['offered_tools', 'tool_calls'],
  'features/scripts': ['script_usage', 'script_versions', 'scripts'],
  'core/runs/sessions': ['sessions'],
  'core/workspaces': ['places'],
  'ports/database': ['trusted_clock'],
  'core/users': ['api_keys', 'page_sign_ins', 'removals', 'users'],
};
const ownerOf = new Map(
  Object.entries(owners).flatMap(([room, tables]) => tables.map((table) => [table, room])),
);

/** The tables that the SQL in a source file names. Keywords are in capitals everywhere, so that prose is none. */
function findTables(text: string): string[] {
  const named = text.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE|TABLE)\s+((?:\w+\s*,\s*)*\w+)/g);
  return [...named].flatMap(([, names]) => names!.split(/\s*,\s*/)).filter((name) => ownerOf.has(name));
}

/** Columns of a run that a feature declares (`record.ts` there) are the feature's own, in a table of the core. */
const withOwnColumns: Readonly<Record<string, string>> = { 'src/features/provenance/': 'executions' };

const isOwn = (file: string, table: string): boolean =>
  file.startsWith(`src/${ownerOf.get(table)}/`) ||
  Object.entries(withOwnColumns).some(([room, own]) => file.startsWith(room) && table === own);

/** A sentence for each table that is named in the SQL of another room. */
function findForeignTables(file: string, text: string): string[] {
  const foreign = new Set(findTables(text).filter((table) => !isOwn(file, table)));
  return [...foreign].map((table) => `${file} names ${table}, which belongs to ${ownerOf.get(table)}`);
}

test('the SQL of a table is in the room that owns it', () => {
  const found = sources.flatMap(({ file, text }) => findForeignTables(file, text));
  assert.deepEqual(found, [], 'call a function of the room that owns the table');
});

test('every table has an owner, which uses it', () => {
  const migrations = globSync('src/ports/database/*migrations/*.sql', { cwd: root });
  const made = new Set<string>();
  const changes = /(CREATE|DROP) TABLE (\w+)|ALTER TABLE (\w+) RENAME TO (\w+)/g;
  for (const file of migrations.toSorted())
    for (const [, what, table, old, renamed] of readFileSync(join(root, file), 'utf8').matchAll(changes)) {
      if (what === 'DROP' || old !== undefined) made.delete(table ?? old!);
      if (what !== 'DROP') made.add(renamed ?? table!);
    }
  assert.deepEqual([...made].sort(), [...ownerOf.keys()].sort());
  const used = new Set(sources.flatMap(({ text }) => findTables(text)));
  assert.deepEqual(
    [...ownerOf.keys()].filter((table) => !used.has(table)),
    [],
  );
});

test('a query of another room’s table that was planted is found', () => {
  const planted: [string, string, string[]][] = [
    ['src/server/instrumentation/counts.ts', `query('SELECT id FROM links WHERE x = ?')`, ['links']],
    ['src/server/stores.ts', `query("UPDATE usage SET bytes = bytes")`, ['usage']],
    ['src/core/links/download.ts', '`SELECT * FROM links\n  LEFT JOIN files ON true`', ['files']],
    ['src/core/users/remove.ts', `'DELETE FROM uploads'`, ['uploads']],
    ['src/core/files/sweep.ts', `'SELECT 1 FROM files, uploads'`, ['uploads']],
    ['src/core/links/link.ts', `'INSERT INTO removals (user_name) VALUES (?)'`, ['removals']],
    ['src/core/links/link.ts', `'INSERT INTO links (id) VALUES (?)'`, []],
    ['src/core/links/link.ts', '/** Reads from files and users. */', []],
  ];
  for (const [file, text, tables] of planted)
    assert.deepEqual(
      findForeignTables(file, text).map((fault) => fault.split(' ')[2]!.replace(',', '')),
      tables,
      text,
    );
});
