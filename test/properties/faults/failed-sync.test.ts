import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { run, serve, temporaryFolder, upload, type Program } from '../../behaviour/cli/program.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { buildFaultLibrary, type FaultLibrary } from './fault-library.testing.ts';

interface Scene extends AsyncDisposable {
  readonly data: string;
  readonly faults: FaultLibrary;
}

/** A data folder in which syncs of the log can fail. Null after the test was skipped. */
async function scene(t: TestContext): Promise<Scene | null> {
  await using owned = new AsyncDisposableStack();
  const folder = owned.use(await temporaryFolder());
  const data = join(folder.path, 'data');
  mkdirSync(data);
  const faults = buildFaultLibrary(folder.path, data);
  if (typeof faults === 'string') {
    t.skip(`the library that lets calls fail cannot be built: ${faults}`);
    return null;
  }
  owned.use(faults);
  const all = owned.move();
  return { data, faults, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

const share = (program: Program, file_id: string) => program.call('share_file', { file_id });
const at = (program: Program, url: string): string => program.url + new URL(url).pathname;
const isReady = async ({ url }: Program): Promise<boolean> => (await fetch(`${url}/readyz`)).status === 200;
const sandboxed = { WORKCRATE_SANDBOX: 'bubblewrap' };

for (const end of ['SIGTERM', 'SIGKILL'] as const)
  it(`what is acknowledged after the disk has dropped a commit is there after ${end}`, async (t) => {
    await using place = await scene(t);
    if (place === null) return;
    const { data, faults } = place;
    const made: string[] = [];
    let revoked = '';
    {
      await using program = await serve(['--data', data], { env: faults.env });
      const { file_id } = await upload(program, 'shared.txt', 'shared');
      const first = (await share(program, file_id)).data;
      // The first sync only shows what was synced last.
      faults.arm('sync that drops the log', 3, 'EIO');
      let answer = await share(program, file_id);
      for (; !answer.failed && made.length < 20; answer = await share(program, file_id))
        made.push(answer.data.downloadUrl as string);
      assert.equal(answer.code, 'database_failed');
      for (let count = 0; count < 12; count++) made.push((await share(program, file_id)).data.downloadUrl);
      revoked = first.downloadUrl;
      const revocation = await program.call('revoke_link', {
        token: new URL(revoked).pathname.split('/').at(-1),
      });
      assert.equal(revocation.failed, false, revocation.text);
      assert.ok(faults.disarm());
      await program.end(end);
      assert.match(program.output.stderr, /"level":"error".*"database\.disk_failed"/);
    }
    await using program = await serve(['--data', data]);
    for (const url of made) assert.equal((await fetch(at(program, url))).status, 200);
    assert.equal((await fetch(at(program, revoked))).status, 404);
    const { data: links } = await program.call('link_status', {});
    assert.equal(
      links.links.filter((link: { state: string }) => link.state === 'active').length,
      made.length,
    );
    assert.equal(await program.end('SIGTERM'), 0);
    const { code, stdout } = await run(['check', '--data', data]);
    assert.equal(code, 0, stdout);
  });

it('while the disk syncs nothing, nothing is acknowledged or run, /readyz says so, and a restart finds nothing of it', async (t) => {
  if (noSandbox !== false) return t.skip(noSandbox);
  await using place = await scene(t);
  if (place === null) return;
  const { data, faults } = place;
  {
    await using program = await serve(['--data', data], { env: { ...sandboxed, ...faults.env } });
    const { file_id } = await upload(program, 'shared.txt', 'shared');
    const look = () => program.call('execute_bash', { command: 'ls /workspace' });
    await look();
    faults.armAll('sync of the log', 'EIO');
    const refused = [
      await share(program, file_id),
      await program.call('execute_code', { language: 'bash', code: 'echo > /workspace/ran' }),
      await program.call('execute_code', {
        language: 'bash',
        code: 'echo > /workspace/ran',
        background: true,
      }),
    ];
    for (const { failed, code, text } of refused)
      assert.deepEqual([failed, code], [true, 'database_failed'], text);
    assert.equal(await isReady(program), false);
    assert.ok(faults.disarm());
    await eventually(() => isReady(program));
    const { data: after, text } = await look();
    assert.doesNotMatch(after?.stdout ?? assert.fail(text), /ran/);
    await program.end('SIGKILL');
    assert.match(program.output.stderr, /"database\.disk_mended"/);
  }
  await using program = await serve(['--data', data], { env: sandboxed });
  const { data: links } = await program.call('link_status', {});
  assert.deepEqual(links.links, []);
  const { data: runs } = await program.call('search_executions', { language: 'bash' });
  assert.deepEqual(
    runs.executions.map((one: { tool: string }) => one.tool),
    ['execute_bash', 'execute_bash'],
  );
});

it('of runs that begin together, none is told that it was not recorded although it was', async (t) => {
  if (noSandbox !== false) return t.skip(noSandbox);
  await using place = await scene(t);
  if (place === null) return;
  const { data: folder, faults } = place;
  await using program = await serve(['--data', folder], { env: { ...sandboxed, ...faults.env } });
  const begin = () => program.call('execute_code', { language: 'bash', code: 'echo ran', background: true });
  await begin();
  for (let round = 0; round < 5; round++) {
    faults.arm('sync of the log', 1, 'EIO');
    const answers = await Promise.all(Array.from({ length: 8 }, begin));
    assert.ok(faults.disarm());
    const told = answers.filter(({ failed }) => !failed).length;
    // Those of one turn are written again one by one, so at most one call hears of the failure.
    assert.ok(told >= 7, JSON.stringify(answers.map(({ text }) => text)));
    await eventually(async () => {
      const { data } = await program.call('search_executions', { status: 'running' });
      return data.executions.length === 0;
    });
    assert.doesNotMatch(program.output.stderr, /UNIQUE/);
  }
});
