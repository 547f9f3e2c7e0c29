import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { getAuditFolder } from '../../../src/core/audit/audit.ts';
import type { AuditLine } from '../../../src/core/audit/line.ts';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { audited } from '../audit/lines.testing.ts';
import { noSandbox, run, useCodeServer } from '../../code.testing.ts';
import { upload } from '../../server.testing.ts';

describe('code that calls our own tools', { skip: noSandbox }, () => {
  const server = useCodeServer({ tools: ['default', 'scripts'], auditLevel: 'trace' });

  it('gets values as values, in Python and Node', async () => {
    const id = await upload(server(), 'a.csv', 'x,y\n1,2\n');
    const python = `from mcp.workcrate import list_files
files = list_files()["files"]
print([file["filename"] for file in files if file["file_id"] == ${JSON.stringify(id)}])`;
    const listed = await run(server(), 'python', python, { tools: ['list_files'] });
    assert.equal(listed.stdout, "['a.csv']\n", listed.stderr);
    const node = `import { list_files } from '/tools/mcp/workcrate/index.mjs';
const { files } = await list_files({});
console.log(files.filter(({ file_id }) => file_id === ${JSON.stringify(id)}).map(({ filename }) => filename));`;
    const got = await run(server(), 'node', node, { tools: ['list_*'] });
    assert.equal(got.stdout, "[ 'a.csv' ]\n", got.stderr);
    recordProof('F6:values-in-python-and-node');
  });

  it('waits for several at once, with aio and promises', async () => {
    const python = `import asyncio
from mcp.workcrate import list_files, list_artifacts
async def main():
    both = await asyncio.gather(list_files.aio(), *[list_files.aio(limit=5) for _ in range(20)])
    print(len(both), all("files" in one for one in both))
asyncio.run(main())`;
    const got = await run(server(), 'python', python, { tools: ['list_*'] });
    assert.equal(got.stdout, '21 True\n', got.stderr);
    const node = `import { list_files } from '/tools/mcp/workcrate/index.mjs';
const all = await Promise.all(Array.from({ length: 20 }, () => list_files({ limit: 5 })));
console.log(all.length, all.every(({ files }) => Array.isArray(files)));`;
    assert.equal((await run(server(), 'node', node, { tools: ['list_*'] })).stdout, '20 true\n');
  });

  it('a call that fails raises what code can catch, and a value never says that it failed', async () => {
    const python = `from mcp.workcrate import share_file, list_files
from mcp._workcrate import ToolError
done = ["partial work"]
try: share_file(file_id="file_" + "0" * 24)
except ToolError as error: print(error.server, error.tool, error.text)
try: list_files(limit="many")
except ToolError as error: print(error.tool, "pydantic" not in error.text, "limit" in error.text)
print(done, len(list_files()))`;
    const got = await run(server(), 'python', python, { tools: ['share_file', 'list_files'] });
    const [first, second, third] = got.stdout.split('\n');
    assert.match(first, /^workcrate share_file No file of yours has the id/, got.stderr);
    assert.equal(second, 'list_files True True');
    assert.match(third, /^\['partial work'\] \d+$/);
    const node = `import { share_file } from '/tools/mcp/workcrate/index.mjs';
import { ToolError } from '/tools/mcp/_workcrate.mjs';
try { await share_file({ file_id: 'file_' + '0'.repeat(24) }); }
catch (error) { console.log(error instanceof ToolError, error.server, error.tool); }
await share_file({ file_id: 'no' });`;
    const failed = await run(server(), 'node', node, { tools: ['share_file'] });
    assert.equal(failed.stdout, 'true workcrate share_file\n');
    assert.match(failed.stderr, /ToolError: share_file: /);
    assert.equal(failed.exit_code, 1);
    recordProof('F6:errors-can-be-caught');
  });

  it('saves files and links without a network', async () => {
    const id = await upload(server(), 'a.csv', 'x,y\n1,2\n');
    const python = `from mcp.workcrate import share_file
from mcp._workcrate import save, ToolError
shared = share_file(file_id=${JSON.stringify(id)})
print(shared["filename"], shared.links[0].size)
file = shared.save("/artifacts/copy.csv")
print(file.path, file.size, open(file).read())
print(save(${JSON.stringify(id)}, "other.csv").path == __import__("os").path.abspath("other.csv"))
for path in ["/etc/passwd", "/tmp/x", "/artifacts/../../x", "/artifacts/copy.csv", "/artifacts/none/x"]:
    try: print("wrote", save(${JSON.stringify(id)}, path))
    except ToolError as error: print("refused")
for source in ["file_" + "0" * 24, "https://example.org/files/abc", "file:///etc/passwd", shared["downloadUrl"][:-1] + "x"]:
    try: print("wrote", save(source, "new.csv"))
    except ToolError as error: print("refused")`;
    const ungranted = await run(server(), 'python', python, { tools: ['share_file', 'list_*'] });
    assert.match(ungranted.stderr, /ToolError: save: The run was not given "save"|The run was not given/);
    assert.deepEqual(ungranted.artifacts.created, []);
    const got = await run(server(), 'python', python, { tools: ['share_file', 'save'] });
    const expected = `a.csv 8\n/artifacts/copy.csv 8 x,y\n1,2\n\nTrue\n${'refused\n'.repeat(9)}`;
    assert.equal(got.stdout, expected, got.stderr);
    assert.ok(got.artifacts.created.includes('/artifacts/copy.csv'), JSON.stringify(got.artifacts));
    recordProof('F6:links-can-be-saved');
  });

  it('what code saves is a call of the record, a line of the audit log and a use of the link', async () => {
    const id = await upload(server(), 'b.csv', 'x,y\n1,2\n');
    const link = (await server().call('share_file', { file_id: id })).data;
    const python = `from mcp._workcrate import save
save(${JSON.stringify(id)}, "/artifacts/by-id.csv")
save(${JSON.stringify(link.downloadUrl)}, "/artifacts/by-link.csv")`;
    const got = await run(server(), 'python', python, { tools: ['save'] });
    const record = await server().call('get_execution', { execution_id: got.execution_id });
    const { calls } = record.data.tool_calls;
    assert.deepEqual(
      calls.map(({ tool, outcome }: { tool: string; outcome: string }) => `${tool} ${outcome}`),
      ['save ok', 'save ok'],
    );
    const status = (await server().call('link_status', { token: link.token })).data;
    assert.deepEqual([status.downloads, status.bytesSent], [1, 8]);
    const isOfRun = ({ details }: AuditLine): boolean => details?.['execution_id'] === got.execution_id;
    const lines = (await audited(server().data, isOfRun, 2)).filter(
      ({ operation }) => operation === 'tool_call',
    );
    assert.deepEqual(
      lines.map(({ subject, details }) => [subject, details?.['source']]),
      [
        ['save', id],
        ['save', status.link_id],
      ],
    );
    const downloads = await audited(server().data, ({ operation }) => operation === 'download');
    assert.deepEqual(
      downloads
        .filter(({ subject }) => subject === 'b.csv')
        .map(({ result, details }) => [result, details?.['link'], details?.['bytes']]),
      [['ok', status.link_id, 8]],
    );
    recordProof('F6:saving-is-a-call');
  });

  it('is given no tools unless it asks, and what it asks for is told clearly', async () => {
    const plain = await run(server(), 'python', 'import mcp.workcrate');
    assert.match(plain.stderr, /No module named 'mcp/);
    const ask = (tools: string[], more = {}) =>
      server().call('execute_code', { language: 'python', code: '1', tools, ...more });
    for (const [tools, text] of [
      [['list_filez'], /Did you mean list_files\?/],
      [['nothing_*'], /No tool that code can call fits "nothing_\*"/],
      [['share_f*'], /does more than read, .* has to be named: share_file/],
      [['execute_code'], /Code cannot call execute_code/],
      [['run_script'], /Code cannot call run_script/],
      [['execute_*'], /No tool that code can call fits/],
    ] as const) {
      const reply = await ask([...tools]);
      assert.equal(reply.failed, true);
      assert.match(reply.text, text);
    }
    assert.match((await ask(['list_files'], { session_id: 'mine' })).text, /Leave session_id out/);
    assert.match((await ask(['list_files'], { language: 'bash' })).text, /for Python and Node/);
    recordProof('F6:none-by-default');
  });

  it('cannot widen its grant from inside', async () => {
    const python = `from mcp import _workcrate
from mcp._workcrate import ToolError
for name in ["share_file", "execute_code", "delete_file", "list_files\\u0000", "*", "", "LIST_FILES"]:
    try: print("called", _workcrate.call(name, {}))
    except ToolError as error: print("was not given" in error.text, end=" ")
print(_workcrate.call("list_files", {})["files"] is not None)`;
    const got = await run(server(), 'python', python, { tools: ['list_*'] });
    assert.equal(got.stdout, 'True True True True True True True True\n', got.stderr);
    recordProof('F6:grant-cannot-be-widened');
  });

  it('is audited as any call', async () => {
    const countLines = (): number => {
      const folder = getAuditFolder(server().data);
      const text = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
      return text.join('').split('"operation":"list_skills"').length - 1;
    };
    const before = countLines();
    const code = 'from mcp.workcrate import list_skills\nlist_skills()\nlist_skills()';
    await run(server(), 'python', code, { tools: ['list_skills'] });
    await eventually(() => countLines() === before + 2);
  });

  it('a script is run with tools', async () => {
    const code = 'from mcp.workcrate import list_files\nprint("files" in list_files())';
    await server().call('save_script', { name: 'lists', description: 'Lists', language: 'python', code });
    const { data, text } = await server().call('run_script', { name: 'lists', tools: ['list_files'] });
    assert.equal(data.stdout, 'True\n', text);
  });
});
