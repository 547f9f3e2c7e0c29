import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { noSandbox } from '../../code.testing.ts';
import { versions } from '../../conformance/messages.testing.ts';
import { connect } from './clients.testing.ts';
import { honest, shell } from './honest.testing.ts';
import { makeProject, type Project } from './project.testing.ts';
import { serve, type Served } from './servers.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

const commandIn = (text: string): string => text.split('\n').find((line) => line.includes('curl '))!;
const bashCode = (code: string) => ({ language: 'bash', code });

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
    it(`what a person gave before is there for the run, over MCP ${version}`, async () => {
      const capabilities = { elicitation: { form: {} }, roots: {} };
      await using client = await connect(served, { version, capabilities, manners: honest(project.root) });
      for (const { path } of client_files)
        assert.equal((await client.call('read_client_file', { path, via: 'form' })).failed, false);
      const { data, text } = await client.call('execute_code', { ...code, client_files });
      assert.equal(data?.stdout, 'one\ntwo\n', text);
      const bash = { command: 'cat first.csv', client_files: [{ path: 'docs/one.csv', as: 'first.csv' }] };
      const again = await client.call('execute_bash', bash);
      assert.equal(again.data?.stdout, 'one\n', again.text);
      assert.match(
        again.text,
        /From the client: docs\/one\.csv, typed into a form \d.* ago \(remembered; refresh: true in client_files/,
      );
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
    assert.match(unasked.text, /curl .*-T \.\/docs\/three\.csv '/);
    const [page] = /http:\S+\/ask\/[\w-]+/.exec(unasked.text)!;
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
    assert.equal(commands.length, 1, unsent.text);
    await shell(project.root, commands[0]!);
    const ran = await client.call('execute_code', run);
    assert.equal(ran.data?.stdout, 'four\nfive\nsix\n', ran.text);
    assert.match(ran.text, /From the client: docs\/five\.csv, sent by your shell \d.* ago\n/);
    const again = await client.call('execute_code', run);
    assert.equal(again.code, 'client_unsupported', 'each run asks anew');
    const aged = given.map((file) => ({ ...file, max_age_s: 600 }));
    const remembered = await client.call('execute_code', { ...run, client_files: aged });
    assert.match(remembered.text, /docs\/six\.csv, sent by your shell \d.* ago \(remembered; refresh/);
  });

  for (const tool of ['execute_code', 'execute_bash'])
    it(`an agent that edits a file and runs it again by ${tool} runs the new one`, async () => {
      const manners = honest(project.root);
      await using client = await connect(served, { version: '2025-06-18', capabilities: {}, manners });
      const path = `docs/job-${tool}.sh`;
      const command = `bash job-${tool}.sh`;
      const call = {
        client_files: [{ path }],
        ...(tool === 'execute_bash' ? { command } : bashCode(command)),
      };
      for (const version of ['version 1', 'version 2', 'version 3']) {
        await writeFile(join(project.root, path), `echo ${version}\n`);
        const unsent = await client.call(tool, call);
        assert.equal(unsent.code, 'client_unsupported', unsent.text);
        await shell(project.root, commandIn(unsent.text));
        const ran = await client.call(tool, call);
        assert.equal(ran.data?.stdout, `${version}\n`, ran.text);
      }
      const old = await client.call(tool, { ...call, client_files: [{ path, max_age_s: 600 }] });
      assert.equal(old.data?.stdout, 'version 3\n', old.text);
      assert.match(old.text, /sent by your shell \d.* ago \(remembered/);
      recordProof('E5:what-an-agent-sent-answers-one-call', 'E5:age-that-a-call-allows');
    });

  it('a file that a run changed is not replaced by the one of the client', async () => {
    const manners = honest(project.root);
    await using client = await connect(served, { version: '2025-11-25', capabilities: {}, manners });
    const path = 'docs/kept.txt';
    const call = { command: 'echo more >> kept.txt; cat kept.txt', client_files: [{ path }] };
    await writeFile(join(project.root, path), 'one\n');
    await shell(project.root, commandIn((await client.call('execute_bash', call)).text));
    assert.equal((await client.call('execute_bash', call)).data?.stdout, 'one\nmore\n');
    await shell(project.root, commandIn((await client.call('execute_bash', call)).text));
    const { code: refusal, text } = await client.call('execute_bash', call);
    assert.equal(refusal, 'already_exists', text);
  });

  it('what was sent is found by the same call until all of it is there', async () => {
    const manners = honest(project.root);
    await using client = await connect(served, { version: '2026-07-28', capabilities: {}, manners });
    const given = ['early', 'late'].map((name) => ({ path: `docs/${name}.csv` }));
    await writeFile(join(project.root, 'docs/early.csv'), 'early\n');
    const run = { language: 'bash', code: 'cat early.csv late.csv', client_files: given };
    const [early] = /-T \.\/docs\/early\.csv '[^']+'/.exec((await client.call('execute_code', run)).text)!;
    await shell(project.root, `curl -sS --fail-with-body ${early}`);
    const second = await client.call('execute_code', run);
    assert.match(second.text, /1 of the client_files must be sent first[^]*late\.csv/);
    await writeFile(join(project.root, 'docs/late.csv'), 'late\n');
    await shell(project.root, commandIn(second.text));
    assert.equal((await client.call('execute_code', run)).data?.stdout, 'early\nlate\n');
  });

  it('nobody is asked, and nothing is offered before all paths and names are judged', async () => {
    let asked = 0;
    const { form, ...others } = honest(project.root);
    const counted: typeof form = (params) => (asked++, form!(params));
    const manners = { ...others, form: counted! };
    const capabilities = { elicitation: { form: {} }, roots: {} };
    await using client = await connect(served, { version: '2026-07-28', capabilities, manners });
    const many = Array.from({ length: 12 }, (_, at) => ({ path: `docs/many-${at}.csv` }));
    const offered = await client.call('execute_code', { ...code, client_files: many });
    assert.equal(offered.text.match(/ -T /g)?.length, 12, offered.text);
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
