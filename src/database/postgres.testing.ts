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
import { freePort } from '../free-port.testing.ts';

/** A PostgreSQL of this test file's own. It ends with the process, even with one that is killed. */
export interface TestPostgres extends AsyncDisposable {
  /** The URL of a database, made where it is not there. Without a name, of a new and empty one. */
  url(databaseName?: string): Promise<string>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** The `skip` of tests where startPostgres gave null. */
export const NO_POSTGRES = 'no PostgreSQL can be run here, for the reason printed above';

const OPTIONS =
  `-c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=200 ` +
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

/** Starts a real server, or prints why none can be had and gives null, so that tests skip. */
export async function startPostgres(): Promise<TestPostgres | null> {
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-pg-'));
  try {
    return await startIn(folder);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    console.log(`No PostgreSQL for tests: ${String(error)}`);
    return null;
  }
}

async function startIn(folder: string): Promise<TestPostgres> {
  const user = await runAs();
  const give = async () => user.uid && run('chown', ['-R', `${user.uid}:${user.gid}`, folder]);
  const password = randomUUID();
  await writeFile(join(folder, 'password'), password, { mode: 0o600 });
  await give();
  const bin = await findBinaries(folder, user);
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
  return {
    url: (name) => databaseUrl(`postgres://workcrate:${password}@127.0.0.1:${port}`, name),
    restart: async () => {
      const how = ['-D', join(folder, 'data'), '-m', 'fast', '-w', '-l', join(folder, 'log'), 'restart'];
      await run(join(bin, 'pg_ctl'), how, { ...user, cwd: folder });
    },
    stop,
    [Symbol.asyncDispose]: stop,
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

async function databaseUrl(
  server: string,
  name = `test_${randomUUID().replaceAll('-', '')}`,
): Promise<string> {
  const client = new pg.Client(`${server}/postgres`);
  await client.connect();
  try {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
  return `${server}/${encodeURIComponent(name)}`;
}
