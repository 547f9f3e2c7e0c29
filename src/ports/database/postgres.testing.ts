import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import pg from 'pg';
import { findBinaries, runAs } from './postgres-binaries.testing.ts';
import { freePort } from '../../platform/free-port.testing.ts';

/** A PostgreSQL with databases for this test file. They go when it is disposed of, and at the end of the server. */
export interface TestPostgres extends AsyncDisposable {
  /** The URL of a database, made where it is not there. Without a name, of a new and empty one. */
  url(databaseName?: string): Promise<string>;
  /** Removes a database before the end. */
  drop(url: string): Promise<void>;
}

/** One of this test file's own. It ends with the process, even with one that is killed. */
export interface OwnPostgres extends TestPostgres {
  /** What others need to use it, as WORKCRATE_TEST_POSTGRES_URL. */
  readonly server: string;
  restart(): Promise<void>;
}

/** The `skip` of tests where startPostgres gave null. */
export const NO_POSTGRES = 'no PostgreSQL can be run here, for the reason printed above';

const OPTIONS =
  `-c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=500 ` +
  '-c fsync=off -c synchronous_commit=off -c full_page_writes=off';

/**
 * The shell's input ends when this process does, however that comes about: then it stops the server and
 * removes the folder. It tries several ports, since a free one may be taken meanwhile.
 */
const GUARD = `
  trap '' PIPE
  trap '"$BIN/pg_ctl" -D "$DIR/data" -m immediate stop >&2; rm -rf "$DIR"' EXIT
  "$BIN/initdb" -D "$DIR/data" -U workcrate --pwfile="$DIR/password" -A scram-sha-256 \\
    -E UTF8 --locale=C --no-sync >&2 || exit 1
  for port in $PORTS; do
    "$BIN/pg_ctl" -D "$DIR/data" -w -l "$DIR/log" -o "$OPTIONS -p $port" start >&2 && break
  done
  "$BIN/pg_ctl" -D "$DIR/data" status >&2 || { cat "$DIR/log" >&2; exit 1; }
  echo $port
  cat >/dev/null`;

/** The server that WORKCRATE_TEST_POSTGRES_URL names, else one of this process's own; null where none can be had. */
export async function findPostgres(): Promise<TestPostgres | null> {
  const given = process.env['WORKCRATE_TEST_POSTGRES_URL'];
  return given ? databasesOn(given) : startPostgres();
}

/**
 * Starts a real server, of this version of Debian's where one is named, or prints why none can be had and gives null,
 * so that tests skip.
 */
export async function startPostgres(version: string | null = null): Promise<OwnPostgres | null> {
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-pg-'));
  try {
    return await startIn(folder, version);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    console.log(`No PostgreSQL for tests: ${String(error)}`);
    return null;
  }
}

async function startIn(folder: string, version: string | null): Promise<OwnPostgres> {
  const user = await runAs();
  const give = async () => user.uid && run('chown', ['-R', `${user.uid}:${user.gid}`, folder]);
  const password = randomUUID();
  await writeFile(join(folder, 'password'), password, { mode: 0o600 });
  await give();
  const bin = await findBinaries(folder, user, version);
  // Once more, since the guard is to remove what was copied into it.
  await give();

  const ports = await Promise.all([freePort(), freePort(), freePort()]);
  const env = {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    BIN: bin,
    DIR: folder,
    OPTIONS,
    PORTS: ports.join(' '),
    LC_ALL: 'C',
  };
  // In a group of its own, a Ctrl-C at the terminal does not reach it before it can clean up.
  const guard = spawn('/bin/sh', ['-c', GUARD], { ...user, env, cwd: folder, detached: true });
  const ended = once(guard, 'exit');
  const port = await Promise.race([firstLine(guard.stdout), failure(guard.stderr)]);
  for (const handle of [guard, guard.stdin, guard.stdout, guard.stderr])
    (handle as { unref?(): void }).unref?.();

  const stop = async () => {
    guard.stdin.end();
    guard.ref();
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const server = `postgres://workcrate:${password}@127.0.0.1:${port}`;
  return {
    ...databasesOn(server),
    server,
    restart: async () => {
      const how = ['-D', join(folder, 'data'), '-m', 'fast', '-w', '-l', join(folder, 'log'), 'restart'];
      await run(join(bin, 'pg_ctl'), how, { ...user, cwd: folder });
    },
    [Symbol.asyncDispose]: stop,
  };
}

/** Others may use the same server: only what was made here is removed. */
function databasesOn(server: string): TestPostgres {
  const made = new Set<string>();
  const drop = async (url: string): Promise<void> => {
    made.delete(url);
    const name = pg.escapeIdentifier(decodeURIComponent(new URL(url).pathname.slice(1)));
    await query(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  };
  return {
    async url(name) {
      const url = await databaseUrl(server, name);
      made.add(url);
      return url;
    },
    drop,
    async [Symbol.asyncDispose]() {
      for (const url of made) await drop(url);
    },
  };
}

const run = promisify(execFile);

async function firstLine(stream: AsyncIterable<Buffer>): Promise<string> {
  for await (const chunk of stream) return chunk.toString().trim();
  return new Promise(() => {});
}

async function failure(stream: NodeJS.ReadableStream): Promise<never> {
  throw new Error(await text(stream));
}

async function databaseUrl(server: string, wanted?: string): Promise<string> {
  const name = wanted ?? `test_${randomUUID().replaceAll('-', '')}`;
  const isThere = wanted !== undefined && (await hasDatabase(server, wanted));
  if (!isThere) await query(server, `CREATE DATABASE ${pg.escapeIdentifier(name)}`);
  return `${server}/${encodeURIComponent(name)}`;
}

async function hasDatabase(server: string, name: string): Promise<boolean> {
  const found = await query(server, `SELECT 1 FROM pg_database WHERE datname = ${pg.escapeLiteral(name)}`);
  return found === 1;
}

/** Gives how many rows there were. */
async function query(server: string, sql: string): Promise<number | null> {
  const client = new pg.Client(`${server}/postgres`);
  await client.connect();
  try {
    return (await client.query(sql)).rowCount;
  } finally {
    await client.end();
  }
}
