import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Client } from '@modelcontextprotocol/client';
import { recordProof } from '../requirements/requirements.testing.ts';
import { connect, lanes } from './lanes.testing.ts';

/** Sends a file in, and gives its id. */
async function send(client: Client, filename: string, bytes: string): Promise<string> {
  const offered = await client.callTool({ name: 'request_upload', arguments: { filename } });
  const [url] = /http:[^'"\s\\]+\/uploads\/[\w-]+/.exec(JSON.stringify(offered))!;
  const answer = await fetch(url, { method: 'PUT', body: bytes });
  assert.equal(answer.status, 201);
  return ((await answer.json()) as { file_id: string }).file_id;
}

const hostile = [
  'workcrate://files/..%2f..%2fetc%2fpasswd',
  'workcrate://files/../artifacts/x',
  'workcrate://artifacts/a%00b',
  'workcrate://artifacts/%ff',
  'workcrate://executions/1%20OR%201=1',
  'workcrate://crates/crate_/../../x',
  'workcrate://users/ada',
  'file:///etc/passwd',
  'http://127.0.0.1/x',
  'no URI',
  '',
];

for (const lane of lanes)
  it(`over ${lane.transport} with MCP ${lane.version} a file is listed, found, completed and read, and there are prompts`, async () => {
    await using connection = await connect(lane);
    const { client } = connection;
    const declared = client.getServerCapabilities()!;
    assert.deepEqual(
      [declared.resources?.listChanged, declared.prompts?.listChanged, declared.completions],
      [false, false, {}],
    );

    const id = await send(client, 'notes.txt', 'a note');
    const uri = `workcrate://files/${id}`;
    const { resources } = await client.listResources();
    const listed = resources.find((one) => one.uri === uri);
    assert.deepEqual([listed?.name, listed?.mimeType, listed?.size], ['notes.txt', 'text/plain', 6]);
    assert.deepEqual((await client.readResource({ uri })).contents, [
      { uri, mimeType: 'text/plain', text: 'a note' },
    ]);

    const { resourceTemplates } = await client.listResourceTemplates();
    const templates = resourceTemplates.map(({ uriTemplate }) => uriTemplate);
    assert.deepEqual(
      templates.filter((template) => template.startsWith('workcrate:')),
      [
        'workcrate://artifacts/{name}',
        'workcrate://files/{file_id}',
        'workcrate://executions/{execution_id}',
        'workcrate://crates/{crate_id}',
        'workcrate://crates/{crate_id}/{+path}',
      ],
    );
    const template = { type: 'ref/resource', uri: 'workcrate://files/{file_id}' } as const;
    for (const value of ['', 'file_', 'NOTES']) {
      const { completion } = await client.complete({ ref: template, argument: { name: 'file_id', value } });
      assert.deepEqual(completion, { values: [id], total: 1, hasMore: false });
    }

    const names = (await client.listPrompts()).prompts.map(({ name }) => name);
    const own = ['analyse_file', 'write_report', 'make_reproducible', 'find_data', 'use_skills'];
    assert.deepEqual(
      names.filter((name) => !name.startsWith('test_')),
      own,
    );
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'analyse_file' },
      argument: { name: 'file', value: 'no' },
    });
    assert.deepEqual(completion.values, ['notes.txt']);
    const { messages } = await client.getPrompt({ name: 'analyse_file', arguments: { file: 'notes.txt' } });
    assert.match(JSON.stringify(messages), /Analyse the file .*notes\.txt.*execute_code/);

    for (const refused of hostile)
      await assert.rejects(
        client.readResource({ uri: refused }),
        { code: -32_602, data: { uri: refused } },
        refused,
      );
    for (const name of ['no_such_prompt', '__proto__', 'constructor'])
      await assert.rejects(client.getPrompt({ name }), { code: -32_602, message: /There are: analyse_file/ });
    await assert.rejects(client.getPrompt({ name: 'analyse_file' }), { message: /needs file: / });
    await assert.rejects(client.getPrompt({ name: 'find_data', arguments: { question: 'x', other: 'y' } }), {
      message: /has no argument "other"\. It takes: question/,
    });
    recordProof(
      'G3:files-as-resources',
      'G3:templates-with-completion',
      'G3:prompts-with-completion',
      'G3:unknown-uris-are-an-error-of-the-protocol',
      'G3:both-eras-over-http-and-stdio',
    );
  });
