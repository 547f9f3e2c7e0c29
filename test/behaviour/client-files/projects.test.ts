import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { ClientCapabilities } from '@modelcontextprotocol/client';
import { versions } from '../../conformance/messages.testing.ts';
import { ask, prove } from './asking.testing.ts';
import { connect } from './clients.testing.ts';
import { honest } from './honest.testing.ts';
import { makeProject, type Project } from './project.testing.ts';
import { serve, type Served } from './servers.testing.ts';

for (const transport of ['HTTP', 'stdio'] as const)
  describe(`one person with two windows over ${transport}`, () => {
    let served: Served;
    let projects: Project[];
    before(async () => {
      served = await serve(transport);
      projects = [await makeProject(), await makeProject()];
      for (const [at, { root }] of projects.entries()) {
        await mkdir(join(root, 'docs'), { recursive: true });
        for (const version of versions)
          await writeFile(join(root, `docs/same-${version}.txt`), `of window ${at}`);
      }
    });
    after(async () => {
      await served?.[Symbol.asyncDispose]();
      for (const project of projects ?? []) await project[Symbol.asyncDispose]();
    });

    const open = (version: (typeof versions)[number], { root }: Project, more: ClientCapabilities = {}) =>
      connect(served, { version, capabilities: { roots: {}, ...more }, manners: honest(root) });

    for (const version of versions)
      it(`each gets the files of its own project, also from the cache, over MCP ${version}`, async () => {
        const path = `docs/same-${version}.txt`;
        for (const round of ['asked for', 'remembered'])
          for (const [at, project] of projects.entries()) {
            await using window = await open(version, project, { elicitation: { form: {} } });
            const input = { path, via: 'form' };
            const { data, text } = await ask(window, project.root, 'read_client_file', input);
            assert.equal(data?.text, `of window ${at}`, `${round}: ${text}`);
          }
      });

    for (const version of versions)
      it(`what is given by hand is there for whoever has the project open, over MCP ${version}`, async () => {
        const path = `docs/given-${version}.txt`;
        const [first, second] = projects as [Project, Project];
        await using one = await open(version, first);
        assert.equal((await one.call('guide_cache_file', { path, content: 'by hand' })).failed, false);
        const { data, text } = await one.call('read_client_file', { path });
        assert.deepEqual([data?.text, data?.rung], ['by hand', 'given'], text);
        await using other = await open(version, second);
        assert.equal((await other.call('guide_cache_file', { forget: path })).data?.forgot, false);
        assert.equal((await one.call('guide_cache_file', { forget: path })).data?.forgot, true);
      });

    for (const version of versions.filter((each) => each !== '2026-07-28'))
      it(`a window that opens another project gets the files of that one, over MCP ${version}`, async () => {
        const [first, second] = projects as [Project, Project];
        const path = `docs/same-${version}.txt`;
        const manners = { ...honest(first.root) };
        const capabilities = { roots: { listChanged: true }, elicitation: { form: {} } };
        await using window = await connect(served, { version, capabilities, manners });
        const input = { path, via: 'form' };
        assert.equal((await window.call('read_client_file', input)).data?.text, 'of window 0');
        Object.assign(manners, honest(second.root));
        await window.client.sendRootsListChanged();
        assert.equal((await window.call('read_client_file', input)).data?.text, 'of window 1');
      });

    it(
      'what one has proven of its project does not count for the other',
      { skip: transport === 'HTTP' && 'over HTTP nothing is shared' },
      async () => {
        const [first, second] = projects as [Project, Project];
        await using one = await open('2026-07-28', first);
        await prove(one, first.root, 'docs');
        await using other = await open('2026-07-28', second);
        const { data, text } = await other.call('list_client_directory', { path: 'docs' });
        assert.equal(data?.status, 'offered', text);
      },
    );
  });
