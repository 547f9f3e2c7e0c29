import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SkillsClient, type Skill } from '@modelcontextprotocol/client/ext/skills';
import { recordProof } from '../requirements/requirements.testing.ts';
import { startServe } from './cli.testing.ts';
import { connect, lanes } from './lanes.testing.ts';
import { complaints, runScenario } from './suite.testing.ts';

const scenarios = ['sep-2640-skills-enumeration', 'sep-2640-skills-manifest', 'sep-2640-skills-directory'];

/** From 2026-07-28 on an answer says how long it may be kept. */
const notInOlderVersions = ['sep-2640-skills-list-cache-attributes', 'sep-2640-skills-get-cache-attributes'];

for (const revision of ['2025-11-25', '2026-07-28'] as const)
  describe(`the conformance scenarios for skills, with MCP ${revision}`, () => {
    it('pass, against the server as users start it', async () => {
      await using server = await startServe();
      for (const scenario of scenarios) {
        const checks = await runScenario(server.url, scenario, revision);
        assert.ok(checks.length >= 6, scenario);
        assert.deepEqual(complaints(checks), [], scenario);
        const skipped = checks.filter(({ status }) => status === 'SKIPPED').map(({ id }) => id);
        const expected =
          revision === '2026-07-28' || !scenario.endsWith('enumeration') ? [] : notInOlderVersions;
        assert.deepEqual(skipped.toSorted(), expected.toSorted());
      }
      recordProof('A12:conformance-scenarios-pass');
    });
  });

for (const lane of lanes)
  it(`over ${lane.transport} with MCP ${lane.version} a host of skills finds, verifies and reads them all`, async () => {
    await using connection = await connect(lane);
    const skills = new SkillsClient(connection.client);
    assert.deepEqual([skills.supported, skills.directoryRead], [true, true]);
    const { skills: listed } = await skills.list();
    assert.deepEqual(
      listed.map(({ frontmatter }) => frontmatter.name),
      ['analyse-data', 'find-and-reuse-crate', 'make-reproducible', 'write-report'],
    );
    for (const skill of listed) {
      const { body, verified } = await skills.read(skill);
      assert.ok(verified && body!.startsWith('\n# '));
      for (const { uri } of skill.resources as Exclude<Skill['resources'], 'dynamic'>)
        assert.equal((await skills.read(skill, uri)).verified, true);
      assert.deepEqual((await skills.get(skill.uri)).skill, skill);
    }
    const { resources } = await skills.readDirectory('skill://analyse-data');
    assert.deepEqual(
      resources.map(({ name, mimeType }) => [name, mimeType]),
      [
        ['SKILL.md', 'text/markdown'],
        ['references', 'inode/directory'],
      ],
    );
    const below = await skills.readDirectory('skill://analyse-data/references/');
    assert.deepEqual(
      below.resources.map(({ uri }) => uri),
      ['skill://analyse-data/references/plot-as-svg.md', 'skill://analyse-data/references/with-pandas.md'],
    );
    for (const uri of ['skill://none/SKILL.md', 'skill://analyse-data', 'file:///etc/passwd', 'no URI', ''])
      await assert.rejects(skills.get(uri), { code: -32_602 }, uri);
    for (const uri of ['skill://analyse-data/SKILL.md', 'skill://none', 'skill://..', 'skill://', 'x'])
      await assert.rejects(skills.readDirectory(uri), { code: -32_602 }, uri);
    for (const uri of [
      'skill://analyse-data/../../x',
      'skill://analyse-data/%2e%2e/write-report/SKILL.md',
      'skill://analyse-data/references',
      'skill://analyse-data',
    ])
      await assert.rejects(connection.client.readResource({ uri }), { code: -32_602 }, uri);
    const { messages } = await connection.client.getPrompt({
      name: 'use_skills',
      arguments: { task: 'plot it' },
    });
    assert.match(JSON.stringify(messages), /"plot it.*read_skill.*analyse-data .*Analyse a table/);
    recordProof('A12:skills-by-the-extension', 'A12:prompt-tells-what-is-there');
  });
