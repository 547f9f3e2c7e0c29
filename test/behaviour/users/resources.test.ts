import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { AuditLine } from '../../../src/core/audit/line.ts';
import { openDatabase } from '../../../src/ports/database/open.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { getDatabaseLocation } from '../../../src/core/store-options.ts';
import { rotateKey } from '../../../src/core/users/keys.ts';
import { createWorkspaces } from '../../../src/core/workspaces/workspaces.ts';
import { audited } from '../audit/lines.testing.ts';
import { belongingsOf, type Belongings } from './belongings.testing.ts';
import { send, startTeam, type Member, type Team } from './team.testing.ts';

/** The URIs of one of everything that somebody has. */
function urisOf({ references }: Belongings, side: 'real' | 'madeUp'): Record<string, string> {
  const name = (what: string): string => references.find((each) => each.what === what)![side];
  return {
    file: `workcrate://files/${name('file')}`,
    artifact: `workcrate://artifacts/${name('artifact')}`,
    climbing: `workcrate://artifacts/${encodeURIComponent(name('path of an artifact'))}`,
    execution: `workcrate://executions/${name('execution')}`,
    crate: `workcrate://crates/${name('crate')}`,
    'crate-file': `workcrate://crates/${name('crate')}/ro-crate-metadata.json`,
  };
}

const read = async ({ client }: Member, uri: string): Promise<string> =>
  JSON.stringify((await client.readResource({ uri })).contents);

/** What somebody gets to hear about a URI: the error, without the URI itself. */
const failure = (who: Member, uri: string): Promise<string> =>
  read(who, uri).then(
    (text) => assert.fail(`${who.name} could read ${uri}: ${text}`),
    (error: { code: number; message: string; data: unknown }) =>
      JSON.stringify([error.code, error.message, error.data]).replaceAll(uri, '<uri>'),
  );

/** What is somebody's: skills are everybody's. */
const listOwned = async ({ client }: Member) =>
  (await client.listResources()).resources.filter(({ uri }) => !uri.startsWith('skill:'));

const urisListed = async (member: Member): Promise<string[]> =>
  (await listOwned(member)).map(({ uri }) => uri);

const templatesFor = async ({ client }: Member): Promise<string[]> =>
  (await client.listResourceTemplates()).resourceTemplates.map(({ name }) => name);

for (const version of ['2025-11-25', '2026-07-28'] as const)
  describe(`resources of two users, with MCP ${version}`, () => {
    it('each reads, lists and completes their own, and learns nothing of the other’s', async () => {
      await using team = await startTeam({ tools: ['default', 'scripts'] });
      const bob = await team.join('bob1', undefined, version);
      const eve = await team.join('eve1', undefined, version);
      const theirs = await belongingsOf(team, bob);
      const real = urisOf(theirs, 'real');
      const listed = await urisListed(bob);
      for (const kind of ['file', 'artifact', 'execution', 'crate']) {
        assert.ok(listed.includes(real[kind]!), kind);
        assert.ok((await read(bob, real[kind]!)).includes(theirs.mark), kind);
      }
      assert.ok((await read(bob, real['crate-file']!)).includes(theirs.mark));

      const madeUp = urisOf(theirs, 'madeUp');
      const neutral = (text: string, what: string): string =>
        theirs.references
          .flatMap((each) => [each.real, each.madeUp])
          .toSorted((a, b) => b.length - a.length)
          .reduce((kept, name) => kept.replaceAll(name, '<it>'), text)
          .replaceAll(what, '<it>');
      for (const [kind, uri] of Object.entries(real)) {
        const answers = [await failure(eve, uri), await failure(eve, madeUp[kind]!)];
        assert.equal(neutral(answers[0]!, uri), neutral(answers[1]!, madeUp[kind]!), kind);
        assert.ok(!answers[0]!.replaceAll(`${theirs.mark}.svg`, '').includes(theirs.mark), kind);
      }
      assert.deepEqual(await urisListed(eve), []);
      await refuseCompletions(eve, theirs);
      recordProof('G3:only-ones-own', 'G3:artifacts-as-resources', 'G3:executions-as-resources');
    });
  });

/** Nothing that begins like something of the other's is offered. */
async function refuseCompletions({ client }: Member, { mark, references }: Belongings): Promise<void> {
  const crate = references.find(({ what }) => what === 'crate')!.real;
  const asked = [
    [{ type: 'ref/resource', uri: 'workcrate://files/{file_id}' }, 'file_id'],
    [{ type: 'ref/resource', uri: 'workcrate://artifacts/{name}' }, 'name'],
    [{ type: 'ref/resource', uri: 'workcrate://executions/{execution_id}' }, 'execution_id'],
    [{ type: 'ref/resource', uri: 'workcrate://crates/{crate_id}' }, 'crate_id'],
    [{ type: 'ref/prompt', name: 'analyse_file' }, 'file'],
    [{ type: 'ref/prompt', name: 'make_reproducible' }, 'execution_id'],
  ] as const;
  for (const [ref, name] of asked)
    for (const value of ['', mark.slice(0, 5), 'file_', 'exec_', 'crate_']) {
      const { completion } = await client.complete({ ref, argument: { name, value } });
      assert.deepEqual(completion.values, [], `${name} ${value}`);
    }
  const inside = {
    ref: { type: 'ref/resource', uri: 'workcrate://crates/{crate_id}/{+path}' } as const,
    argument: { name: 'path', value: '' },
    context: { arguments: { crate_id: crate } },
  };
  await assert.rejects(client.complete(inside), { message: /There is no crate with this id/ });
}

/** Gives somebody another key with other scopes. */
async function rescope(team: Team, name: string, scopes: readonly string[]): Promise<Member> {
  const database = await openDatabase(getDatabaseLocation(team.config));
  try {
    return await team.connect(name, await rotateKey(database, name, { scopes }, Date.now()));
  } finally {
    await database.close();
  }
}

it('a key sees and reads only what its scopes allow, and more is an error that names the scope', async () => {
  await using team = await startTeam();
  const ada = await team.join('ada');
  const file = `workcrate://files/${await send(ada, 'a.txt', 'secret text')}`;
  const narrow = await rescope(team, 'ada', ['artifacts']);
  assert.deepEqual(await templatesFor(narrow), ['artifact']);
  assert.deepEqual((await narrow.client.listPrompts()).prompts, []);
  assert.deepEqual(await urisListed(narrow), []);
  const refusal = await failure(narrow, file);
  assert.match(refusal, /does not have the scope files/);
  assert.doesNotMatch(refusal, /secret text/);
  const ref = { type: 'ref/resource', uri: 'workcrate://files/{file_id}' } as const;
  await assert.rejects(narrow.client.complete({ ref, argument: { name: 'file_id', value: '' } }), {
    message: /does not have the scope files/,
  });
  const [line] = await audited(team.config.data, ({ result }) => result === 'forbidden');
  assert.deepEqual([line!.level, line!.operation, line!.subject], ['info', 'resources/read', file]);

  const writer = await rescope(team, 'ada', ['code', 'documents']);
  const { prompts } = await writer.client.listPrompts();
  assert.deepEqual(
    prompts.map(({ name }) => name),
    ['analyse_file', 'write_report'],
  );
  const { messages } = await writer.client.getPrompt({ name: 'analyse_file', arguments: { file: 'a.txt' } });
  assert.doesNotMatch(JSON.stringify(messages), /list_files|get_artifact|read_client_file/);
  const begun = {
    ref: { type: 'ref/prompt', name: 'analyse_file' } as const,
    argument: { name: 'file', value: '' },
  };
  assert.deepEqual((await writer.client.complete(begun)).completion.values, []);
  recordProof('G3:scopes-apply', 'G3:prompts-name-only-tools-that-are-there');
});

it('groups of tools that are switched off have no resources and no prompts', async () => {
  await using team = await startTeam({ tools: ['files'] });
  const ada = await team.join('ada');
  assert.deepEqual(await templatesFor(ada), ['file']);
  assert.deepEqual((await ada.client.listPrompts()).prompts, []);
  const answer = await failure(ada, 'workcrate://executions/exec_000000000000');
  assert.match(answer, /Forms of URIs here: workcrate:\/\/files\/\{file_id\}\./);
});

/** As a run would have left it. */
async function leaveArtifacts({ config }: Team, user: string, names: readonly string[]): Promise<void> {
  const database = await openDatabase(getDatabaseLocation(config));
  try {
    const folder = join(config.data, 'places');
    const { artifacts } = await createWorkspaces({ database, folder, uids: null, clock: Date.now }).of(user);
    for (const name of names) await writeFile(join(artifacts, name), `content of ${name}`);
  } finally {
    await database.close();
  }
}

it('an artifact of any name is listed and read by its URI', async () => {
  await using team = await startTeam();
  const ada = await team.join('ada');
  const names = [
    'a b.txt',
    '100%.txt',
    'a?b#c&d.txt',
    'ø "x" \'y\'.txt',
    'line\nbreak.txt',
    '%2e%2e.txt',
    '{name}',
    'ﬁle😀.txt',
  ];
  await leaveArtifacts(team, 'ada', names);
  const resources = await listOwned(ada);
  assert.deepEqual(resources.map(({ name }) => name).toSorted(), names.toSorted());
  for (const { uri, name } of resources) {
    const { contents } = await ada.client.readResource({ uri });
    assert.deepEqual(contents, [{ uri, mimeType: 'text/plain', text: `content of ${name}` }], name);
  }
  const ref = { type: 'ref/resource', uri: 'workcrate://artifacts/{name}' } as const;
  const { completion } = await ada.client.complete({ ref, argument: { name: 'name', value: 'line' } });
  assert.deepEqual(completion.values, ['line\nbreak.txt']);
  recordProof('G3:every-name-works');
});

it('every request is a line with its subject, and one that climbs is a violation; none shows content', async () => {
  await using team = await startTeam();
  const ada = await team.join('ada');
  const file = `workcrate://files/${await send(ada, 'a.txt', 'secret text')}`;
  const climbing = 'workcrate://artifacts/..%2f..%2fetc%2fpasswd';
  await read(ada, file);
  await urisListed(ada);
  await failure(ada, 'workcrate://files/file_000000000000000000000000');
  await failure(ada, climbing);
  await ada.client.getPrompt({ name: 'find_data', arguments: { question: 'secret question' } });
  await ada.client.complete({
    ref: { type: 'ref/prompt', name: 'analyse_file' },
    argument: { name: 'file', value: 'secret start' },
  });
  const isOurs = ({ operation }: AuditLine): boolean => operation.includes('/');
  const lines = await audited(team.config.data, isOurs, 6);
  assert.deepEqual(
    lines.map(({ level, operation, user, client, subject, result, details }) => [
      level,
      operation,
      user,
      client,
      subject,
      result,
      details?.['kind'],
    ]),
    [
      ['trace', 'resources/read', file, 'ok'],
      ['trace', 'resources/list', null, 'ok'],
      ['info', 'resources/read', 'workcrate://files/file_000000000000000000000000', 'not_found'],
      ['warning', 'resources/read', climbing, 'invalid_input', 'traversal'],
      ['trace', 'prompts/get', 'find_data', 'ok'],
      ['trace', 'completion/complete', 'analyse_file', 'ok'],
    ].map(([level, operation, subject, result, kind]) => [
      level,
      operation,
      'ada',
      'team 1',
      subject,
      result,
      kind,
    ]),
  );
  assert.doesNotMatch(JSON.stringify(lines), /secret (?:text|question|start)/);
  const logged = team.logged
    .filter((line) => line.includes('"mcp.answered"'))
    .map((line) => JSON.parse(line));
  assert.deepEqual(logged.map(({ method, user, result }) => [method, user, result]).slice(0, 3), [
    ['resources/read', 'ada', 'ok'],
    ['resources/list', 'ada', 'ok'],
    ['resources/read', 'ada', 'not_found'],
  ]);
  assert.doesNotMatch(team.logged.join('\n'), /secret (?:text|question|start)/);
  const operator = await team.connect('ops', await team.key('ops', ['operator']));
  const metrics = await (await operator.fetch('/metrics')).text();
  assert.match(metrics, /workcrate_mcp_requests_total\{method="resources\/read",result="ok"\} 1/);
  recordProof('G3:audited-counted-and-logged');
});
