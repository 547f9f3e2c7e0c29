import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { getAuditFolder } from '../../../src/core/audit/audit.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { run as runProgram, serve, temporaryFolder, upload } from '../cli/program.testing.ts';
import { noSandbox } from '../../code.testing.ts';

const env = { WORKCRATE_SANDBOX: 'bubblewrap', WORKCRATE_WARM_PYTHON: '0', WORKCRATE_WARM_NODE: '0' };

const python = `from mcp.workcrate import get_execution, list_files, list_artifacts, list_skills
from mcp.workcrate import ToolError
names = sorted(file["filename"] for file in list_files(limit=50)["files"])
open("/artifacts/names.txt", "w").write(" ".join(names))
try: get_execution("exec_000000000000")
except ToolError as error: print(error.tool, "failed")
print(len(list_skills()["skills"]) > 0)`;

const node = `import { writeFileSync } from 'node:fs';
import { list_files } from '/tools/mcp/workcrate/index.mjs';
const { files } = await list_files({ limit: 50 });
writeFileSync('/artifacts/names.json', JSON.stringify(files.map(({ filename }) => filename)));`;

describe('the record of tools that code called', { skip: noSandbox }, () => {
  it('is in the execution, the audit log and the crate, and a replay says what differs', async () => {
    await using home = await temporaryFolder();
    const settings = ['--data', home.path];
    await using server = await serve(
      [...settings, '--audit-level', 'trace', '--tools', 'default,validation'],
      { env },
    );
    await upload(server, 'first.csv', '1');
    const { data, text } = await server.call('execute_code', {
      language: 'python',
      code: python,
      tools: ['list_*', 'get_execution'],
    });
    assert.equal(data.exit_code, 0, text);

    const { data: shown } = await server.call('get_execution', { execution_id: data.execution_id });
    const calls = shown.tool_calls.calls as { tool: string; outcome: string }[];
    assert.deepEqual(
      calls.map(({ tool, outcome }) => `${tool} ${outcome}`),
      ['list_files ok', 'get_execution error', 'list_skills ok'],
    );
    const folder = getAuditFolder(home.path);
    const lines = readdirSync(folder)
      .filter((name) => name.endsWith('.jsonl'))
      .flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'))
      .map((line) => JSON.parse(line))
      .filter(({ operation }) => operation === 'tool_call');
    assert.deepEqual(
      lines.map((line) => [line.subject, line.result, line.details.execution_id, line.details.call]),
      calls.map(({ tool, outcome }, at) => [tool, outcome, data.execution_id, at + 1]),
    );

    const { data: packed } = await server.call('pack_crate', { execution_id: data.execution_id });
    const archive = fileURLToPath(packed.resource_locator);
    const { data: judged } = await server.call('validate_crate', { crate_id: packed.crate_id });
    assert.equal(judged.valid, true, JSON.stringify(judged));

    // The world changes, and the answers that were recorded do not.
    await upload(server, 'second.csv', '2');
    const replay = async (...more: string[]) => {
      const ended = await runProgram(['replay', archive, '--json', ...settings, ...more], { env });
      assert.equal(ended.stderr, '');
      const [step] = JSON.parse(ended.stdout).steps;
      return { code: ended.code, step, states: step.calls.map((call: { state: string }) => call.state) };
    };
    const recorded = await replay();
    assert.deepEqual(
      [recorded.code, recorded.states],
      [0, ['same', 'same', 'same']],
      JSON.stringify(recorded.step),
    );
    assert.deepEqual([recorded.step.stdout, recorded.step.results[0].state], ['same', 'same']);
    const live = await replay('--tools', 'live', '--url', server.url);
    assert.deepEqual(
      [live.code, live.states],
      [1, ['other result', 'same', 'same']],
      JSON.stringify(live.step),
    );
    assert.equal(live.step.results[0].state, 'differs');

    const again = await server.call('execute_code', { language: 'node', code: node, tools: ['list_files'] });
    assert.equal(again.data.exit_code, 0, again.text);
    const other = await server.call('pack_crate', { execution_id: again.data.execution_id });
    await upload(server, 'third.csv', '3');
    const told = await runProgram(['replay', fileURLToPath(other.data.resource_locator), ...settings], {
      env,
    });
    assert.equal(told.code, 0, told.stdout + told.stderr);
    assert.match(told.stdout, /tool calls: 1 as recorded\n/);
    const wrong = await runProgram(['replay', archive, '--tools', 'some', ...settings], { env });
    assert.match(wrong.stderr, /--tools takes recorded or live, not "some"/);
    recordProof('F6:calls-are-replayed', 'F6:calls-are-recorded', 'F6:calls-are-in-the-crate');
  });
});
