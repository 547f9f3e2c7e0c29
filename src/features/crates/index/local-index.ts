/**
 * The file that crates are searched in: FTS5 tables for words and entities, plain ones for facets. It is made of the rows
 * of crates (`rows.ts`) by `filling.ts`, read by `reading.ts`, and can be deleted at any time. Who may write to it is
 * decided by SQLite's lock: each change is a transaction that begins by looking how far the file is.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { sqliteQueryError } from '../../../ports/database/open.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import { facets } from '../query/facets.ts';
import { textFields } from '../query/text-fields.ts';

/** Raise it whenever tables, the tokenizer, or what is written of a crate change: the file is then made anew. */
const fileVersion = 1;

/** Columns of a document that are codes of values: see the table `coded`. */
export const codedColumns = [...facets.map(({ name }) => name), 'shape'] as const;

/** `words_1` has the crates that everybody may see; each owner of crates has a table more. So scores tell nobody of others' crates. */
export const publicAudience = 1;

export const getWordsTable = (audience: number): string => `words_${audience}`;

const tables = `
  CREATE TABLE state (only_one INTEGER PRIMARY KEY, made_of TEXT NOT NULL, epoch TEXT NOT NULL, applied INTEGER NOT NULL);
  CREATE TABLE audiences (audience INTEGER PRIMARY KEY, owner TEXT UNIQUE, documents INTEGER NOT NULL);
  INSERT INTO audiences VALUES (${publicAudience}, NULL, 0);
  CREATE TABLE documents (document INTEGER PRIMARY KEY AUTOINCREMENT, crate_id TEXT NOT NULL UNIQUE,
    audience INTEGER NOT NULL, sort_key INTEGER NOT NULL, published REAL,
    ${codedColumns.map((name) => `${name} INTEGER NOT NULL`).join(', ')});
  CREATE TABLE removed (number INTEGER PRIMARY KEY, document INTEGER NOT NULL);
  CREATE TABLE coded (code INTEGER PRIMARY KEY, name TEXT NOT NULL, value TEXT NOT NULL, UNIQUE (name, value));
  CREATE TABLE forms (form TEXT PRIMARY KEY, stem TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE graphs (document INTEGER PRIMARY KEY, graph TEXT NOT NULL);
  CREATE TABLE entity_values (token INTEGER PRIMARY KEY, property TEXT NOT NULL, folded TEXT NOT NULL);
  CREATE VIRTUAL TABLE entities USING fts5(tokens, content = '', columnsize = 0, detail = none, tokenize = ascii);
  CREATE VIRTUAL TABLE parts USING fts5(folded, content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1');
  CREATE TABLE vectors (document INTEGER PRIMARY KEY, vector BLOB NOT NULL);
  PRAGMA user_version = ${fileVersion};`;

/** It keeps the texts: FTS5 forgets the length of a text only if it can read it once more. */
export const createWordsTable = (audience: number): string =>
  `CREATE VIRTUAL TABLE ${getWordsTable(audience)} USING fts5(${textFields.map(({ name }) => name).join(', ')},
     tokenize = 'porter unicode61 remove_diacritics 2')`;

export interface LocalIndex extends Disposable {
  readonly connection: DatabaseSync;
  /** The statement of this SQL, with rows as arrays. */
  prepare(sql: string): StatementSync;
  /** What the file is made of and how far; null where it is none of this version. */
  readState(): { readonly madeOf: string; readonly applied: number } | null;
  /** Another one whenever the file is made anew: documents are numbered from 1 again. */
  readEpoch(): string;
  /** All or nothing, while no other process writes. */
  write<T>(work: () => T): T;
  /** What is read together is of one moment. */
  read<T>(work: () => T): T;
  /** Empties it, in a transaction; `madeOf` names the rows that it is made of from now on. */
  reset(madeOf: string): void;
}

/** How long a process waits in its thread for another that writes. */
const maxBusyMs = 10_000;
const maxStatements = 300;

/** Opens the file, or makes an empty one; `:memory:` for tests. An unreadable one fails as `toLocalIndexError` says. */
export function openLocalIndex(file: string): LocalIndex {
  const connection = new DatabaseSync(file, { timeout: maxBusyMs });
  const statements = new Map<string, StatementSync>();
  try {
    connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -64000');
  } catch (error) {
    connection.close();
    throw toLocalIndexError(error);
  }

  function prepare(sql: string): StatementSync {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = connection.prepare(sql);
    statement.setReturnArrays(true);
    if (statements.size >= maxStatements) statements.clear();
    statements.set(sql, statement);
    return statement;
  }

  function run<T>(begin: string, work: () => T): T {
    if (connection.isTransaction) return work();
    connection.exec(begin);
    try {
      const result = work();
      connection.exec('COMMIT');
      return result;
    } finally {
      if (connection.isTransaction) connection.exec('ROLLBACK');
    }
  }

  const readVersion = (): number =>
    connection.prepare('PRAGMA user_version').get()!['user_version'] as number;

  return {
    connection,
    prepare,
    readState() {
      if (readVersion() !== fileVersion) return null;
      const row = connection.prepare('SELECT made_of, applied FROM state').get();
      return row === undefined ? null : { madeOf: String(row['made_of']), applied: Number(row['applied']) };
    },
    readEpoch: () => String(connection.prepare('SELECT epoch FROM state').get()!['epoch']),
    write: (work) => run('BEGIN IMMEDIATE', work),
    read: (work) => run('BEGIN', work),
    reset(madeOf) {
      statements.clear();
      dropTables(connection);
      connection.exec(tables);
      connection.exec(createWordsTable(publicAudience));
      connection.prepare('INSERT INTO state VALUES (1, ?, hex(randomblob(8)), 0)').run(madeOf);
    },
    [Symbol.dispose]: () => connection.close(),
  };
}

/** Those of FTS5 first, which drop what is below them. */
function dropTables(connection: DatabaseSync): void {
  const list = (like: string): string[] =>
    connection
      .prepare(
        `SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE ? AND name NOT LIKE 'sqlite_%'`,
      )
      .all(like)
      .map(({ name }) => String(name));
  for (const name of [...list('CREATE VIRTUAL %'), ...list('%')])
    connection.exec(`DROP TABLE IF EXISTS "${name}"`);
}

/** What SQLite says of the file, as an error of ours; `isDamagedDatabase` tells whether it is unreadable. */
export const toLocalIndexError = (error: unknown): unknown =>
  error instanceof Error && 'errcode' in error ? sqliteQueryError(error, 'the index for searching') : error;

const behindKind = 'index_behind';

/** Says that the file has to catch up with the rows before it can answer; `damaged` is its identity if it is unreadable. */
export const indexBehindError = (cause: unknown, damaged: string | null): WorkcrateError =>
  new WorkcrateError('index_busy', 'The index for searching is being made. Try again in a moment.', {
    cause,
    details: { kind: behindKind, damaged: damaged ?? '' },
  });

/** The identity of the damaged file, empty for one that is only behind; null for any other failure. */
export const getBehindIndexFile = (error: unknown): string | null =>
  error instanceof WorkcrateError && error.details['kind'] === behindKind
    ? String(error.details['damaged'])
    : null;
