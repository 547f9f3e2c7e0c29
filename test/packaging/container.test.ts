import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { findEngine, noEngine, type TestEngine } from '../../src/ports/sandbox/docker/engine.testing.ts';
import { openDockerEngine } from '../../src/ports/sandbox/docker/engine.ts';
import { buildImage, docker, dockerOutput, noDocker } from './image.testing.ts';
import { freePort } from '../../src/platform/free-port.testing.ts';
import { serve, temporaryFolder } from '../behaviour/cli/program.testing.ts';
import { recordProof } from '../requirements/requirements.testing.ts';

/** As docs/guide/deploy.md and compose.yaml have it: nothing is given to the container, and two things are not taken away. */
const confined =
  '--init --read-only --tmpfs /tmp --tmpfs /home/workcrate:uid=10001,mode=700 --cap-drop ALL --security-opt no-new-privileges'.split(
    ' ',
  );
const forSandbox = '--security-opt seccomp=unconfined --security-opt systempaths=unconfined'.split(' ');
/** The engine of the tests has no bridge, and so a container is reached on this machine's loopback or not at all. */
const reachable = '-e WORKCRATE_HOST=127.0.0.1 -e WORKCRATE_AUTH= -e WORKCRATE_FILE_TTL=86400'.split(' ');

/** Every check starts a Node in the container, so only who waits for one has them so often. */
const soonHealthy = ['--health-interval', '1s'];

const engine = noDocker === false ? await findEngine() : null;
const skip = noDocker || (engine === null && noEngine);

describe('the image of packaging/docker/Dockerfile', { skip }, () => {
  before(async () => void (await buildImage(engine!)));
  after(() => engine?.[Symbol.asyncDispose]());

  it('runs as nobody in particular, becomes healthy, and serves code and files', async () => {
    await using container = await started(engine!, soonHealthy);
    assert.match(await docker(engine!, 'exec', container.id, 'id'), /^uid=10001 gid=10001/);
    await waitUntilHealthy(engine!, container.id);
    const { text } = await container.call('execute_code', {
      language: 'python',
      code: 'import os; print(os.getuid(), os.path.exists("/var/lib/workcrate"), os.listdir("/opt/workcrate"))',
    });
    assert.match(text, /^1000 False /);
    assert.doesNotMatch(text, /src|node_modules/);
    const bytes = randomBytes(2 * 1024 ** 2);
    const { data } = await container.call('request_upload', { filename: 'a.bin' });
    const sent = await fetch(data.uploadUrl as string, { method: 'PUT', body: bytes });
    const { file_id } = (await sent.json()) as { file_id: string };
    const { data: link } = await container.call('share_file', { file_id });
    assert.ok(bytes.equals(await (await fetch(link.downloadUrl as string)).bytes()));
    recordProof('G4:docker-image');
  });

  it('ends at once and well when it is stopped, and a new one goes on with its volume', async () => {
    await using first = await started(engine!);
    const { data } = await first.call('request_upload', { filename: 'kept.txt' });
    const sent = await fetch(data.uploadUrl as string, { method: 'PUT', body: 'kept' });
    assert.equal(sent.status, 201);
    await docker(engine!, 'stop', '--time', '40', first.id);
    const state = await docker(engine!, 'inspect', '-f', '{{.State.ExitCode}}', first.id);
    assert.equal(state.trim(), '0');
    await using second = await started(engine!, ['--volumes-from', first.id]);
    assert.match((await second.call('list_files', {})).text, /kept\.txt/);
  });

  it('code of a server outside runs in the image that MCP_EXECUTOR_IMAGE names, with the folders of the other two', async () => {
    await using folder = await temporaryFolder();
    const env: Record<string, string> = { MCP_EXECUTOR_IMAGE: 'named-for-code:1' };
    for (const name of ['tools', 'skills']) {
      await mkdir(join(folder.path, name), { mode: 0o755 });
      await writeFile(join(folder.path, name, 'told.txt'), `of ${name}\n`, { mode: 0o644 });
      env[`MCP_${name.toUpperCase()}_PATH`] = join(folder.path, name);
    }
    const args = ['--sandbox', 'docker', '--docker-socket', engine!.socket, '--data', join(folder.path, 'd')];
    await assert.rejects(serve(args, { env }), /named-for-code:1/);
    await docker(engine!, 'tag', engine!.image, 'named-for-code:1');
    await using program = await serve(args, { env });
    const command = 'cat /tools/told.txt /skills/told.txt; touch /tools/x || touch /skills/x || echo kept';
    const { data, text } = await program.call('execute_bash', { command });
    assert.equal(data.stdout, 'of tools\nof skills\nkept\n', text);
    const images = await docker(engine!, 'ps', '--all', '--format', '{{.Image}}');
    assert.ok(images.split('\n').includes('named-for-code:1'), images);
    recordProof('A11:image-setting', 'D14:docker-by-name');
  });

  it('as it comes, it listens on all addresses and asks for a key', async () => {
    const args = ['--network', 'none', ...soonHealthy, ...confined];
    const id = (await docker(engine!, 'run', '-d', ...args, 'workcrate')).trim();
    try {
      await waitUntilHealthy(engine!, id);
      const ask = `fetch('http://127.0.0.1:9180/mcp', { method: 'POST', headers: { Authorization: 'Bearer ' + process.argv[1] } })`;
      const status = (key: string) =>
        docker(engine!, 'exec', id, 'node', '-e', `${ask}.then(({ status }) => console.log(status))`, key);
      assert.match(await status('none'), /^401$/m);
      const said = await docker(engine!, 'exec', id, 'node', 'bin/workcrate.js', 'user', 'add', 'ada');
      const key = /wck_[\w-]{43}/.exec(said)?.[0];
      assert.ok(key, 'a key is printed');
      assert.doesNotMatch(await status(key), /^401$/m);
    } finally {
      await docker(engine!, 'rm', '-f', id);
    }
  });

  it('without the two options it serves files, and says what running code takes', async () => {
    const doctor = (...more: string[]) =>
      docker(
        engine!,
        'run',
        '--rm',
        '--network',
        'none',
        ...confined,
        ...reachable,
        ...more,
        'workcrate',
        'doctor',
      );
    const bare = await doctor();
    assert.match(bare, /code cannot be run in bubblewrap/);
    assert.match(bare, /workcrate can start here/);
    assert.match(await doctor(...forSandbox.slice(0, 2)), /systempaths=unconfined/);
    assert.match(await doctor(...forSandbox), /bubblewrap runs python/);
  });
});

async function started(on: TestEngine, more: string[] = []) {
  const port = await freePort();
  const args = ['--network', 'host', '-e', `WORKCRATE_PORT=${port}`];
  const said = await docker(
    on,
    'run',
    '-d',
    ...args,
    ...confined,
    ...forSandbox,
    ...reachable,
    ...more,
    'workcrate',
  );
  const id = said.trim();
  await using cleaning = new AsyncDisposableStack();
  cleaning.defer(async () => void (await docker(on, 'rm', '-f', id)));
  const url = `http://127.0.0.1:${port}`;
  await waitUntilReady(on, id, url);
  const client = new Client({ name: 'beside a container', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp?structured=1`)));
  cleaning.defer(() => client.close());
  const all = cleaning.move();
  return { id, call: caller(client), [Symbol.asyncDispose]: () => all.disposeAsync() };
}

function caller(client: Client) {
  return async (name: string, input: Record<string, unknown>) => {
    const result = await client.callTool({ name, arguments: input });
    const text = (result.content as { text?: string }[])[0]?.text ?? '';
    assert.notEqual(result.isError, true, text);
    // oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
    return { text, data: result.structuredContent as any };
  };
}

interface Inspected {
  readonly State: {
    readonly Running: boolean;
    readonly ExitCode: number;
    readonly Health: { readonly Status: string; readonly Log: unknown };
  };
}

/** A slow machine takes its time to start the container and each of its checks. */
const maxStartingMs = 5 * 60_000;

async function waitUntilReady(on: TestEngine, id: string, url: string): Promise<void> {
  const until = performance.now() + maxStartingMs;
  for (;;) {
    const ready = await fetch(`${url}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ready) return;
    const { Running, ExitCode } = await inspectState(on, id);
    if (!Running || performance.now() > until)
      throw new Error(
        `the container ${Running ? 'does not answer' : `ended with ${ExitCode}`}: ${await readLogs(on, id)}`,
      );
    await pause(200);
  }
}

/** What the server says goes to its stderr, and so comes out of the stderr of the command. */
async function readLogs(on: TestEngine, id: string): Promise<string> {
  const { stdout, stderr } = await dockerOutput(on, 'logs', id);
  return stdout + stderr;
}

/** Asks the engine itself: a client that is started anew each time takes longer than the answer. */
async function inspectState(on: TestEngine, id: string): Promise<Inspected['State']> {
  return (await openDockerEngine(on.socket).call<Inspected>('GET', `/containers/${id}/json`)).State;
}

/** A busy machine fails some checks, and the next good one mends that: only what never becomes healthy has failed. */
async function waitUntilHealthy(on: TestEngine, id: string): Promise<void> {
  const until = performance.now() + maxStartingMs;
  for (;;) {
    const { Running, Health } = await inspectState(on, id);
    if (Health.Status === 'healthy') return;
    if (!Running || performance.now() > until)
      assert.fail(`${Health.Status}: ${JSON.stringify(Health.Log)}\n${await readLogs(on, id)}`);
    await pause(200);
  }
}
