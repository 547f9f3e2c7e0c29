/**
 * The SQLite backend: one file, one connection, writers one at a time (a mutex). SQLite syncs each commit before anybody
 * sees it. It makes room on a full disk and tries again. What its errors mean is in `sqlite-errors.ts`.
 */
import { closeSync, openSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { memoize } from '../../platform/concurrency/bounded-map.ts';
import { createMutex } from '../../platform/concurrency/mutex.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { othersNoticedMs, type Database, type Queries, type Row, type SqlValue } from './database.ts';
import { runWork, waitingLimit } from './scope.ts';
import {
  isSqliteBusy,
  isDamagedDatabase,
  isFull,
  isInputOutputError,
  mayBeFull,
  sqliteError,
  sqliteQueryError,
  verifySqlite,
} from './sqlite-errors.ts';

const maxCachedStatements = 500;
/** SQLite waits in the thread and so stops the whole server: keep it short, and go on in `retryWhileBusy`. */
const maxBusyInThreadMs = 50;
const maxBusyMs = 10_000;

export interface SqliteOptions {
  /** Frees some space where the disk is full: whether it could. What failed is then tried once more. */
  readonly makeRoom?: () => boolean;
  /** Told where the disk does not take what is written, once until it takes it again. */
  readonly failed?: (error: WorkcrateError) => void;
  /** Told when it takes it again. */
  readonly mended?: () => void;
}

/** The embedded backend: one file, one connection. A query outside of transactions runs at once. */
export function sqliteDatabase(file: string, options: SqliteOptions = {}): Database {
  const { makeRoom = () => false } = options;
  const connection = openWithRoom(file, makeRoom);
  const mutex = createMutex(waitingLimit);
  const prepare = createStatements(connection);
  const opened = readInode(file);
  let closing: Promise<void> | null = null;
  let damage: WorkcrateError | null = null;
  let version = 0;

  const refuseClosed = () => {
    if (closing !== null) throw new WorkcrateError('database_failed', `SQLite at ${file} is closed.`);
  };

  const run = <T extends Row>(sql: string, values: SqlValue[]): T[] => {
    try {
      const { placeholders, statement, names, reads } = prepare(sql);
      if (!reads) version++;
      checkValues(sql, placeholders, values);
      const rows = statement.all(...values) as unknown as SqlValue[][];
      return rows.map((row) => toPlainRow(names, row)) as T[];
    } catch (error) {
      const failure = sqliteQueryError(error, file);
      if (isDamagedDatabase(failure)) damage ??= failure;
      if (isInputOutputError(failure)) mender.noteFailure(failure);
      throw failure;
    }
  };

  const writtenByOthers = createOthersVersion(
    () => run<{ data_version: number }>('SELECT data_version FROM pragma_data_version', [])[0]!.data_version,
  );

  /** Tries again with more space, where a full disk was in the way. Nothing was written before. */
  const withRoom = async <T>(attempt: () => T | Promise<T>): Promise<T> => {
    const shrink = (): void => shrinkLog(connection);
    const remedies = [shrink, () => makeRoom() && shrink()];
    for (const remedy of remedies) {
      try {
        return await attempt();
      } catch (error) {
        if (!isFull(error)) throw error;
        remedy();
      }
    }
    return attempt();
  };

  const runInTurn = <T>(act: () => T): Promise<T> => mutex.run(() => withRoom(() => retryWhileBusy(act)));

  const queryNow = <T extends Row>(sql: string, values: SqlValue[]): T[] | Promise<T[]> => {
    if (!mutex.isFree()) return runInTurn(() => run<T>(sql, values));
    try {
      return run<T>(sql, values);
    } catch (error) {
      if (!isSqliteBusy(error) && !isFull(error)) throw error;
      return runInTurn(() => run<T>(sql, values));
    }
  };

  /** To set the version that is there writes its page. */
  const writeNothingNew = async (): Promise<void> => {
    if (closing !== null) return;
    await runInTurn(() => run(`PRAGMA user_version = ${getUserVersion(connection)}`, []));
  };
  const mender = createLogMender(writeNothingNew, options);

  const transact = async <T>(work: (tx: Queries) => Promise<T>): Promise<T> => {
    await retryWhileBusy(() => run('BEGIN IMMEDIATE', []));
    try {
      const result = await runWork({ query: async (sql, ...values) => run(sql, values) }, work);
      run('COMMIT', []);
      return result;
    } finally {
      // Some failures, such as a full disk, have rolled back already.
      if (connection.isTransaction) run('ROLLBACK', []);
    }
  };

  return {
    kind: 'sqlite',
    isShared: false,
    sharedClock: null,
    clock: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
    // Both only grow: what is written here, and what others commit, as `workcrate user` does beside a server.
    version: () => (closing === null ? version + writtenByOthers() : version),
    async query<T extends Row>(sql: string, ...values: SqlValue[]) {
      refuseClosed();
      return queryNow<T>(sql, values);
    },
    async transaction(work) {
      refuseClosed();
      return mutex.run(() => withRoom(() => transact(work)));
    },
    identify: () => identifySqlite(file),
    verify: () => mutex.run(() => verifySqlite(connection)),
    async demandWhole() {
      if (damage !== null) throw damage;
      mender.demandWhole();
      if (readInode(file) !== opened) throw databaseRemovedError(file);
    },
    close() {
      closing ??= mutex.run(async () => {
        mender.close();
        connection.close();
      });
      return closing;
    },
  };
}

const getUserVersion = (connection: DatabaseSync): number =>
  connection.prepare('PRAGMA user_version').get()!['user_version'] as number;

/** Moves the write-ahead log into the database, which frees the space of the log. */
function shrinkLog(connection: DatabaseSync): void {
  try {
    connection.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // The full disk is known already, and reported if nothing helps.
  }
}

const firstMendMs = 50;
const maxMendMs = 5000;

/**
 * Remembers that the disk did not take a commit. SQLite has taken that back, and the next one is written over it. Until
 * then it may be whole in the log, and would be found after a crash although its caller was told that it failed. So a
 * commit that changes nothing is written over it, again and again until the disk takes it.
 */
function createLogMender(write: () => Promise<void>, { failed, mended }: SqliteOptions) {
  let failure: WorkcrateError | null = null;
  let timer: NodeJS.Timeout | null = null;

  function mendLater(ms: number): void {
    timer = setTimeout(() => void mend(ms), ms).unref();
  }

  async function mend(ms: number): Promise<void> {
    try {
      await write();
    } catch {
      // Its failure is the one that was told already.
      return mendLater(Math.min(2 * ms, maxMendMs));
    }
    failure = null;
    mended?.();
  }

  return {
    noteFailure(error: WorkcrateError): void {
      if (failure !== null) return;
      failure = error;
      failed?.(error);
      mendLater(firstMendMs);
    },
    demandWhole(): void {
      if (failure !== null) throw failure;
    },
    close: () => clearTimeout(timer ?? undefined),
  };
}

/** What other processes have committed, as a number that grows. It is looked for now and then only. */
function createOthersVersion(look: () => number): () => number {
  let [version, seenAt] = [0, Number.NEGATIVE_INFINITY];
  return () => {
    const now = performance.now();
    if (now - seenAt < othersNoticedMs) return version;
    [version, seenAt] = [look(), now];
    return version;
  };
}

/** Prepared statements by their SQL, with what is known of each. */
function createStatements(connection: DatabaseSync) {
  return memoize(maxCachedStatements, (sql: string) => {
    const { placeholders } = parseStatement(sql);
    const statement = connection.prepare(sql);
    statement.setReturnArrays(true);
    const names = statement.columns().map((column) => column.name);
    const verb = /^\s*([A-Z]*)/i.exec(sql)![1]!.toUpperCase();
    return { placeholders, statement, names, reads: verb === 'SELECT' };
  });
}

/** The inode of the file; null if there is none, or if the database is in memory. */
const readInode = (file: string): bigint | null =>
  statSync(file, { bigint: true, throwIfNoEntry: false })?.ino ?? null;

/** A copy is another file: it has a number of its own, or was made at another time. */
async function identifySqlite(file: string): Promise<string> {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? `sqlite ${process.pid} ${file}` : `sqlite ${found.ino} ${found.birthtimeNs}`;
}

const databaseRemovedError = (file: string): WorkcrateError =>
  new WorkcrateError(
    'database_failed',
    `SQLite at ${file}: the file was removed or replaced while the server runs, which writes to the old one. Stop the ` +
      'server, put the database back, and start again.',
  );

function openWithRoom(file: string, makeRoom: () => boolean): DatabaseSync {
  try {
    return openSqliteConnection(file);
  } catch (error) {
    if (!mayBeFull(error) || !makeRoom()) throw error;
    return openSqliteConnection(file);
  }
}

/** A plain object as pg gives it, made here: those of node:sqlite have no prototype and are slow to read. */
function toPlainRow(names: readonly string[], values: readonly SqlValue[]): Row {
  const row: Row = {};
  for (let at = 0; at < names.length; at++) row[names[at]!] = values[at]!;
  return row;
}

/** Repeats what another process is in the way of. A busy statement has done nothing. */
async function retryWhileBusy<T>(attempt: () => T): Promise<T> {
  const deadline = performance.now() + maxBusyMs;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isSqliteBusy(error) || performance.now() > deadline) throw error;
    }
    await pause(Math.random() * 50);
  }
}

/**
 * Several processes may open a new file at once. SQLite does not wait where each would wait for the other, as both do
 * that turn the same file to WAL, so one of them begins again; nothing else runs yet that a sleep could hold up.
 */
function openSqliteConnection(file: string): DatabaseSync {
  const deadline = performance.now() + maxBusyMs;
  for (;;) {
    try {
      return attemptToOpen(file);
    } catch (error) {
      const failure = sqliteError(error, file);
      if (!isSqliteBusy(failure) || performance.now() > deadline) throw failure;
    }
    sleepInThread(Math.random() * 50);
  }
}

function attemptToOpen(file: string): DatabaseSync {
  // SQLite would let everybody read it; its WAL takes over the mode of the file.
  if (file !== ':memory:') closeSync(openSync(file, 'a', 0o600));
  const connection = new DatabaseSync(file, { timeout: maxBusyMs, enableForeignKeyConstraints: true });
  try {
    connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON');
    connection.exec(`PRAGMA journal_size_limit = 67108864; PRAGMA busy_timeout = ${maxBusyInThreadMs}`);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

function sleepInThread(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

export interface Statement {
  /** The SQL with `$1`, `$2`, … for its placeholders. */
  readonly numbered: string;
  readonly placeholders: number;
}

const quotedSql = `'[^']*'|"[^"]*"`;
const commentSql = String.raw`--[^\n]*|/\*[\s\S]*?\*/`;
const sqlTokenForm = new RegExp(`${quotedSql}|${commentSql}|[?;]`, 'g');

/** Finds the placeholders of one statement. Text in quotes and comments is left as it is. */
export function parseStatement(sql: string): Statement {
  let placeholders = 0;
  let end = sql.length;
  const numbered = sql.replace(sqlTokenForm, (token, offset: number) => {
    if (token === ';') end = Math.min(end, offset);
    return token === '?' ? `$${++placeholders}` : token;
  });
  // SQLite would run the first statement and silently leave the rest.
  if (stripSqlComments(sql.slice(end + 1)) !== '')
    throw statementRefusedError('a query is one statement', sql);
  return { numbered, placeholders };
}

/** SQLite would silently take a missing value as NULL. */
export function checkValues(sql: string, placeholders: number, values: readonly unknown[]): void {
  if (values.length === placeholders) return;
  throw statementRefusedError(`${placeholders} placeholders were given ${values.length} values`, sql);
}

/** The statements of a file of SQL, without comments, each in one spelling whatever its line breaks. */
export function splitStatements(text: string): string[] {
  const statements = [''];
  for (const [part] of stripSqlComments(text).matchAll(new RegExp(`${quotedSql}|;|[^'";]+`, 'g'))) {
    if (part === ';') statements.push('');
    else statements[statements.length - 1] += /^['"]/.test(part) ? part : part.replaceAll(/\s+/g, ' ');
  }
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== '');
}

function stripSqlComments(sql: string): string {
  const pattern = new RegExp(`(${quotedSql})|${commentSql}`, 'g');
  return sql.replace(pattern, (_, quoted: string | undefined) => quoted ?? ' ').trim();
}

function statementRefusedError(reason: string, sql: string): WorkcrateError {
  return new WorkcrateError('database_failed', `The SQL was refused: ${reason}. ${sql.slice(0, 200)}`);
}
