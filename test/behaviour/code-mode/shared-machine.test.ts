import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { connect } from '../client-files/clients.testing.ts';
import { honest } from '../client-files/honest.testing.ts';
import { furnish, makeProject } from '../client-files/project.testing.ts';
import { serve } from '../client-files/servers.testing.ts';
import { noSandbox } from '../../code.testing.ts';

const secret = 'of the project alone';

/** Calls every tool that takes a path of the client, and writes down all that comes of it. */
const readByPath = (path: string, whole: string): string => `import json
from mcp import workcrate
calls = [
    ("share_file", {"path": ${JSON.stringify(whole)}}),
    ("share_file", {"path": ${JSON.stringify(path)}}),
    ("read_client_file", {"path": ${JSON.stringify(path)}}),
    ("read_client_file", {"path": ${JSON.stringify(path)}, "via": "direct"}),
    ("list_client_directory", {"path": ${JSON.stringify(path.split('/')[0]!)}, "via": "direct"}),
]
for name, arguments in calls:
    try: print(name, json.dumps(getattr(workcrate, name)(**arguments), default=str))
    except Exception as error: print(name, "failed", error)`;

it('over stdio, code reads nothing of the project by a path', { skip: noSandbox }, async () => {
  await using project = await makeProject();
  await using served = await serve('stdio', {
    sandbox: 'bubblewrap',
    warmPython: 0,
    shareRoots: [project.root],
  });
  const folder = await furnish(project, 'read');
  await writeFile(join(project.root, folder, 'plain.txt'), secret);
  const wish = { version: '2025-11-25', capabilities: { roots: {} }, manners: honest(project.root) } as const;
  await using client = await connect(served, wish);
  const path = `${folder}/plain.txt`;
  // The client itself may, and has shown that it can.
  assert.match((await client.call('read_client_file', { path })).text, new RegExp(secret));
  const { data, text } = await client.call('execute_code', {
    language: 'python',
    code: readByPath(path, join(project.root, path)),
    tools: ['share_file', 'read_client_file', 'list_client_directory'],
  });
  const printed = String(data?.stdout ?? text);
  // One is offered to the client's own shell, which code does not have.
  assert.equal(printed.match(/^\w+ failed/gm)?.length, 4, printed);
  assert.ok(!printed.includes(secret) && !printed.includes('downloadUrl'), printed);
  assert.match(printed, /not by code of a run/);
  recordProof('F6:no-machine-is-shared');
});
