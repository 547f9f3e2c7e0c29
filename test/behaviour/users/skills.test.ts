import assert from 'node:assert/strict';
import { it } from 'node:test';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { startTeam } from './team.testing.ts';

for (const version of ['2025-11-25', '2026-07-28'] as const)
  it(`with MCP ${version} a key without the scope sees no skills by any way, and one with it sees them by all`, async () => {
    await using team = await startTeam();
    const ada = await team.join('ada', ['skills'], version);
    const eve = await team.join('eve', ['code', 'scripts'], version);
    const names = async ({ client }: typeof ada): Promise<string[]> =>
      (await client.listTools()).tools.map(({ name }) => name);
    assert.deepEqual(await names(ada), ['list_skills', 'read_skill', 'read_docstring']);
    assert.ok(!(await names(eve)).some((name) => /skill|docstring/.test(name)));
    assert.equal((await ada.call('read_skill', { name: 'write-report' })).failed, false);
    assert.equal((await eve.call('read_skill', { name: 'write-report' })).code, 'forbidden');
    assert.equal((await ada.fetch('/skills')).status, 200);
    for (const path of ['/skills', '/skills/write-report']) assert.equal((await eve.fetch(path)).status, 403);
    assert.equal((await fetch(`${team.url}/skills`)).status, 401);
    const uri = 'skill://write-report/SKILL.md';
    const [allowed, refused] = [new SkillsClient(ada.client), new SkillsClient(eve.client)];
    assert.equal((await allowed.list()).skills.length, 4);
    const forbidden = { data: { code: 'forbidden', scope: 'skills' } };
    await assert.rejects(refused.list(), forbidden);
    await assert.rejects(refused.get(uri), forbidden);
    await assert.rejects(refused.readDirectory('skill://write-report'), forbidden);
    await assert.rejects(eve.client.readResource({ uri }), forbidden);
    assert.deepEqual((await eve.client.listResources()).resources, []);
    const prompts = (await eve.client.listPrompts()).prompts.map(({ name }) => name);
    assert.ok(!prompts.includes('use_skills'));
    recordProof('F7:only-what-scopes-allow');
  });
