import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noSandbox, run, useCodeServer } from '../../code.testing.ts';
import { backends } from '../../server.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

const mega = 1024 ** 2;

describe(`artifacts, on ${backends}`, { skip: noSandbox }, () => {
  const server = useCodeServer({ artifactSizeLimitMb: 1 });
  const rest = async (path: string) => {
    const answer = await fetch(`${server().url}${path}`);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };

  it('somebody without artifacts has none', async () => {
    const { data } = await server().call('list_artifacts', {});
    assert.deepEqual(data, { artifacts: [], count: 0, total: 0, next: null });
    const nobody = await rest('/nobody/artifacts');
    assert.deepEqual(nobody, { status: 200, body: { artifacts: [], count: 0 } });
  });

  it('only regular files that stand directly in /artifacts are there', async () => {
    const code = `cd /artifacts; echo plain > b.txt; echo plain > a.txt; mkdir folder; echo x > folder/in; touch .hidden
      ln -s /etc/passwd link; mkfifo pipe; ln a.txt second.txt`;
    assert.equal((await run(server(), 'bash', code)).stderr, '');
    assert.deepEqual((await server().call('list_artifacts', {})).data.artifacts, [
      'a.txt',
      'b.txt',
      'second.txt',
    ]);
    for (const name of ['folder', 'link', 'pipe', 'nothing']) {
      const { code: error, text } = await server().call('get_artifact', { name });
      assert.deepEqual([error, text.split('\n')[0]], ['not_found', `Artifact not found: ${name}`]);
      assert.deepEqual(await rest(`/local/artifacts/${name}`), {
        status: 404,
        body: { error: `Artifact not found: ${name}` },
      });
    }
    recordProof('A1:regular-files-sorted-by-name', 'A1:nothing-else-listed', 'A6:missing-is-404');
  });

  it('any bytes come back as they were, by link and as base64', async () => {
    await run(server(), 'python', 'open("/artifacts/bytes.bin", "wb").write(bytes(range(256)) * 100)');
    const bytes = Buffer.from(Array.from({ length: 25_600 }, (_, at) => at % 256));
    const { data: link } = await server().call('get_artifact', { name: 'bytes.bin' });
    assert.deepEqual(Buffer.from(await (await fetch(link.downloadUrl)).arrayBuffer()), bytes);
    const { data } = await server().call('get_artifact', { name: 'bytes.bin', delivery: 'base64' });
    assert.deepEqual(data, { artifact_id: 'bytes.bin', data: bytes.toString('base64'), encoding: 'base64' });
    assert.deepEqual((await rest('/local/artifacts/bytes.bin')).body, data);
    recordProof('A4:bytes-exact');
  });

  it('a path is no name', async () => {
    const slash = `Invalid artifact path 'a/b': must be a filename, not a path (no '/' or '\\' allowed)`;
    assert.deepEqual(await rest('/local/artifacts/a%2Fb'), { status: 400, body: { error: slash } });
    assert.equal((await server().call('get_artifact', { name: 'a/b' })).text.split('\n')[0], slash);
    const dot = `Invalid artifact path '.hidden': cannot start with '.'`;
    assert.deepEqual(await rest('/local/artifacts/.hidden'), { status: 400, body: { error: dot } });
    recordProof('A5:status-400');
  });

  it('the limit holds for what passes through the context, not for a link', async () => {
    await run(
      server(),
      'bash',
      `cd /artifacts; truncate -s ${mega} fits; truncate -s ${mega + 1} over; : > empty`,
    );
    const over = `Artifact 'over' is ${mega + 1} bytes, exceeds limit of ${mega} bytes`;
    assert.deepEqual(await rest('/local/artifacts/over'), { status: 400, body: { error: over } });
    assert.equal((await rest('/local/artifacts/fits')).status, 200);
    assert.equal((await rest('/local/artifacts/empty')).body['data'], '');
    const { data } = await server().call('get_artifact', { name: 'over' });
    assert.equal((await (await fetch(data.downloadUrl)).arrayBuffer()).byteLength, mega + 1);
    recordProof('A7:exact-limit-and-empty-given', 'A7:one-byte-more-refused-in-its-words');
  });

  it('any name that the kernel allows can be made, listed and fetched', async () => {
    const names = [
      'a b',
      `it's "q"`,
      '$(id)`id`;|&',
      'line\nbreak',
      '-rf',
      '\u202etxt.exe',
      'é',
      'e\u0301',
      '%2e%2e',
      'x'.repeat(255),
    ];
    const code = `import json\nfor name in json.loads(input()): open("/artifacts/" + name, "w").write(name)`;
    await run(server(), 'python', code, { stdin: JSON.stringify(names) });
    const { artifacts } = (await server().call('list_artifacts', {})).data;
    for (const name of names) {
      assert.ok(artifacts.includes(name), name);
      const { data } = await server().call('get_artifact', { name });
      assert.equal(await (await fetch(data.downloadUrl)).text(), name);
      const { body } = await rest(`/local/artifacts/${encodeURIComponent(name)}`);
      assert.equal(Buffer.from(body['data'] as string, 'base64').toString(), name);
    }
    recordProof('A9:every-name-works', 'A9:shell-characters-are-text');
  });

  it('an artifact is had under the name of its user, and under no other', async () => {
    await run(server(), 'bash', 'echo mine > /artifacts/mine.txt');
    const { body } = await rest('/local/artifacts/mine.txt');
    assert.equal(Buffer.from(body['data'] as string, 'base64').toString(), 'mine\n');
    for (const user of ['somebody', 'LOCAL', 'local%20', '1', '..%2Flocal']) {
      assert.notEqual((await rest(`/${user}/artifacts/mine.txt`)).status, 200, user);
      const list = await rest(`/${user}/artifacts`);
      assert.ok(!JSON.stringify(list.body).includes('mine.txt'), user);
    }
  });

  it('each list, get and error is logged with the user, errors at level error', async () => {
    await run(server(), 'bash', 'echo x > /artifacts/logged.txt');
    const before = server().logged.length;
    await server().call('list_artifacts', {});
    await server().call('get_artifact', { name: 'logged.txt' });
    await server().call('get_artifact', { name: 'nothing.txt' });
    await rest('/local/artifacts');
    await rest('/local/artifacts/logged.txt');
    await rest('/local/artifacts/nothing.txt');
    await rest('/local/artifacts/.hidden');
    const lines = server()
      .logged.slice(before)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ event }) => String(event).startsWith('artifact.'))
      .map(({ level, event, user, name, result }) => [level, event, user, name, result]);
    const list = ['info', 'artifact.list', 'local', undefined, 'ok'];
    const get = ['info', 'artifact.get', 'local', 'logged.txt', 'ok'];
    const missing = ['error', 'artifact.get', 'local', 'nothing.txt', 'not_found'];
    const refused = ['error', 'artifact.get', 'local', '.hidden', 'invalid_input'];
    assert.deepEqual(lines, [list, get, missing, list, get, missing, refused]);
    recordProof('A13:list-logged-with-user', 'A13:get-logged-with-user', 'A13:errors-at-level-error');
  });

  it('a small picture is shown where that is asked for', async () => {
    const png =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    await run(server(), 'bash', `echo ${png} | base64 -d > /artifacts/dot.png`);
    const { raw } = await server().call('get_artifact', { name: 'dot.png', show: true });
    const image = raw.content.find((block) => (block as { type: string }).type === 'image');
    assert.deepEqual(image, { type: 'image', mimeType: 'image/png', data: png });
  });
});
