import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
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
    it(`E2, E10: each file is asked for, one after the other, over MCP ${version}`, async () => {
      const capabilities = { elicitation: { form: {} }, roots: {} };
      await using client = await connect(served, { version, capabilities, manners: honest(project.root) });
      const { data, text } = await client.call('execute_code', { ...code, client_files });
      assert.equal(data?.stdout, 'one\ntwo\n', text);
    });

  it('E3, E7: a path that is not allowed runs nothing, and a client that cannot be asked is told what to do', async () => {
    const manners = honest(project.root);
    await using client = await connect(served, { version: '2026-07-28', capabilities: {}, manners });
    const outside = await client.call('execute_code', { ...code, client_files: [{ path: 'secret.txt' }] });
    assert.equal(outside.code, 'path_refused', outside.text);
    const unasked = await client.call('execute_code', {
      ...code,
      client_files: [{ path: 'docs/three.csv' }],
    });
    assert.equal(unasked.code, 'client_unsupported');
    assert.match(unasked.text, /curl .*-T '\.\/docs\/three\.csv'/);
  });
});
