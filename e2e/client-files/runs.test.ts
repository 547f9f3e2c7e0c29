import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { noSandbox } from '../code.testing.ts';
import { versions } from '../conformance/messages.testing.ts';
import { connect } from './clients.testing.ts';
import { honest } from './honest.testing.ts';
import { makeProject, type Project } from './project.testing.ts';
import { serve, type Served } from './servers.testing.ts';

describe('runs on files of the client', { skip: noSandbox }, () => {
  let served: Served;
  let project: Project;
  before(async () => {
    project = await makeProject();
    for (const name of ['one', 'two']) await writeFile(join(project.root, `docs/${name}.csv`), `${name}\n`);
    served = await serve('HTTP', { sandbox: 'bubblewrap', warmPython: 0, warmNode: 0, warmBash: 1 });
  });
  after(async () => {
    await served?.[Symbol.asyncDispose]();
    await project?.[Symbol.asyncDispose]();
  });

  const code = { language: 'bash', code: 'cat one.csv second.csv' };
  const client_files = [{ path: 'docs/one.csv' }, { path: 'docs/two.csv', as: 'second.csv' }];

  for (const version of versions)
    it(`each file is asked for, one after the other, over MCP ${version}`, async () => {
      const capabilities = { elicitation: { form: {} }, roots: {} };
      await using client = await connect(served, { version, capabilities, manners: honest(project.root) });
      const { data, text } = await client.call('execute_code', { ...code, client_files });
      assert.equal(data?.stdout, 'one\ntwo\n', text);
      const bash = { command: 'cat first.csv', client_files: [{ path: 'docs/one.csv', as: 'first.csv' }] };
      const again = await client.call('execute_bash', bash);
      assert.equal(again.data?.stdout, 'one\n', again.text);
      assert.match(again.text, /From the client: docs\/one\.csv/);
      await client.call('execute_bash', { command: 'rm first.csv' });
    });

  it('a path that is not allowed runs nothing, and a client that cannot be asked is told what to do', async () => {
    const manners = honest(project.root);
    await using client = await connect(served, { version: '2026-07-28', capabilities: {}, manners });
    const outside = await client.call('execute_code', { ...code, client_files: [{ path: 'secret.txt' }] });
    assert.equal(outside.code, 'path_not_allowed', outside.text);
    assert.match(outside.text, /Send any other file with request_upload/);
    const unasked = await client.call('execute_code', {
      ...code,
      client_files: [{ path: 'docs/three.csv' }],
    });
    assert.equal(unasked.code, 'client_unsupported');
    assert.match(unasked.text, /curl .*-T '\.\/docs\/three\.csv'/);
    const [page] = /http:\S+\/ask\/\S+/.exec(unasked.text)!;
    assert.equal((await fetch(page)).status, 200);
    assert.match(unasked.text, /paste short texts with guide_cache_file/);
  });

  it('all files that have to be sent are told at once, and the run says by which way they came', async () => {
    const manners = honest(project.root);
    await using client = await connect(served, { version: '2026-07-28', capabilities: {}, manners });
    const names = ['four', 'five', 'six'];
    for (const name of names) await writeFile(join(project.root, `docs/${name}.csv`), `${name}\n`);
    const given = names.map((name) => ({ path: `docs/${name}.csv` }));
    const run = { language: 'bash', code: 'cat four.csv five.csv six.csv', client_files: given };
    const unsent = await client.call('execute_code', run);
    const commands = unsent.text.split('\n').filter((line) => line.includes('curl '));
    assert.equal(commands.length, 3, unsent.text);
    for (const command of commands)
      await promisify(execFile)('sh', ['-c', command], {
        cwd: project.root,
        timeout: 60_000,
      });
    const ran = await client.call('execute_code', run);
    assert.equal(ran.data?.stdout, 'four\nfive\nsix\n', ran.text);
    assert.match(ran.text, /From the client: docs\/five\.csv, by upload\n/);
    assert.match((await client.call('execute_code', run)).text, /docs\/six\.csv, by upload, cached/);
  });

  it('nobody is asked for more files than a client bears, or before all paths and names are judged', async () => {
    let asked = 0;
    const { form, ...others } = honest(project.root);
    const counted: typeof form = (params) => (asked++, form!(params));
    const manners = { ...others, form: counted! };
    const capabilities = { elicitation: { form: {} }, roots: {} };
    await using client = await connect(served, { version: '2026-07-28', capabilities, manners });
    const many = Array.from({ length: 12 }, (_, at) => ({ path: `docs/many-${at}.csv` }));
    const tooMany = await client.call('execute_code', { ...code, client_files: many });
    assert.equal(tooMany.text.match(/curl /g)?.length, 12, tooMany.text);
    const [good, bad] = [{ path: 'docs/new.csv' }, { path: 'secret.txt' }];
    for (const [files, expected] of [
      [[good, bad], 'path_not_allowed'],
      [[good, { path: '../x' }], 'path_refused'],
      [[good, { path: 'docs/b.csv', as: '../b' }], 'path_refused'],
      [[good, { path: 'docs/b.csv', as: 'new.csv' }], 'invalid_input'],
    ] as const)
      assert.equal((await client.call('execute_code', { ...code, client_files: files })).code, expected);
    assert.equal(asked, 0);
  });
});
