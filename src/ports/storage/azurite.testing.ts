import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createSharedKeyAuthorization } from './azure/client.ts';

/** A container of the test's own, in an Azurite that ends with this process, even with one that is killed. */
export interface TestAzurite extends AsyncDisposable {
  readonly endpoint: string;
  readonly account: string;
  readonly key: string;
  readonly container: string;
}

type Service = Omit<TestAzurite, 'container'>;

/** The `skip` of tests where startAzurite gave null. */
export const NO_AZURITE = 'no Azurite can be run here, for the reason printed above';

/** The shell's input ends when this process does, however that comes about: then it ends the server. */
const GUARD = `
  trap '' PIPE
  "$NODE" "$MAIN" --blobHost 127.0.0.1 --blobPort 0 --inMemoryPersistence --extentMemoryLimit 4096 \\
    --disableTelemetry --skipApiVersionCheck --silent </dev/null &
  server=$!
  trap 'kill $server 2>/dev/null; wait $server' EXIT
  cat >/dev/null`;

const startTimeoutMs = 60_000;

/** Starts a real Azurite with an account of its own, or prints why none can be had and gives null. */
export async function startAzurite(): Promise<TestAzurite | null> {
  try {
    const shared = process.env['WORKCRATE_TEST_AZURE'];
    return await withContainer(shared ? sharedService(shared) : await startService());
  } catch (error) {
    console.log(`No Azurite for tests: ${String(error)}`);
    return null;
  }
}

function sharedService(text: string): Service {
  const given = JSON.parse(text) as Pick<Service, 'endpoint' | 'account' | 'key'>;
  return { ...given, [Symbol.asyncDispose]: async () => {} };
}

async function startService(): Promise<Service> {
  const main = fileURLToPath(import.meta.resolve('azurite/dist/src/blob/main.js'));
  const account = `test${randomBytes(4).toString('hex')}`;
  const key = randomBytes(64).toString('base64');
  const env = {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    NODE: process.execPath,
    MAIN: main,
    AZURITE_ACCOUNTS: `${account}:${key}`,
  };
  // In a group of its own, a Ctrl-C at the terminal does not reach it before it can clean up.
  const guard = spawn('/bin/sh', ['-c', GUARD], { env, cwd: '/', detached: true });
  const ended = once(guard, 'exit');
  const stop = async (): Promise<void> => {
    guard.stdin.end();
    guard.ref();
    await ended;
  };
  try {
    const address = await Promise.race([addressIn(guard.stdout, guard.stderr), tooLate()]);
    for (const handle of [guard, guard.stdin, guard.stdout, guard.stderr])
      (handle as { unref?(): void }).unref?.();
    return { endpoint: `${address}/${account}`, account, key, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The address that the server prints once it listens. Its output is read on, lest it fill the pipe. */
function addressIn(stdout: NodeJS.ReadableStream, stderr: NodeJS.ReadableStream): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let said = '';
  const note = (chunk: Buffer): void => {
    said = (said + chunk.toString()).slice(-4096);
    const found = /listens on (http:\/\/[\d.:]+)/.exec(said);
    if (found) resolve(found[1]!);
  };
  stdout.on('data', note).on('end', () => reject(new Error(said.trim() || 'it ended at once')));
  stderr.on('data', note);
  return promise;
}

async function tooLate(): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, startTimeoutMs).unref());
  throw new Error('it did not start in time');
}

async function withContainer(service: Service): Promise<TestAzurite> {
  const container = `test-${randomBytes(6).toString('hex')}`;
  await changeContainer(service, container, 'PUT', 201);
  return {
    ...service,
    container,
    async [Symbol.asyncDispose]() {
      await changeContainer(service, container, 'DELETE', 202);
      await service[Symbol.asyncDispose]();
    },
  };
}

async function changeContainer(service: Service, name: string, method: string, good: number): Promise<void> {
  const url = new URL(`${service.endpoint}/${name}?restype=container`);
  const headers = { 'x-ms-date': new Date().toUTCString(), 'x-ms-version': '2023-11-03' };
  const authorization = createSharedKeyAuthorization(service, method, url, headers);
  const answer = await fetch(url, { method, headers: { ...headers, authorization } });
  if (answer.status !== good)
    throw new Error(`${method} of a container: ${answer.status} ${await answer.text()}`);
}
