import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { CallToolResult, Client } from '@modelcontextprotocol/client';
import { eventually } from '../../src/platform/eventually.testing.ts';
import { noSandbox } from '../code.testing.ts';
import { taskTools } from './fixtures/tasks.testing.ts';
import { connect, lanes, type Connection } from './lanes.testing.ts';
import { recordProof } from '../requirements/requirements.testing.ts';

const tools = [
  'execute_code',
  'execute_bash',
  'get_execution',
  'cancel_execution',
  'search_executions',
  'start_session',
  'send_to_session',
  'close_session',
  'list_sessions',
  'manage_session',
  'install_packages',
  'list_artifacts',
  'get_artifact',
  'request_upload',
  'share_file',
  'bundle_files',
  'link_status',
  'revoke_link',
  'list_files',
  'delete_file',
  'search_index',
  'search_by_entity',
  'list_searchable_fields',
  'get_crate',
  'list_crate_files',
  'read_crate_file',
  'download_crate',
  'pack_crate',
  'sync_index',
  'index_status',
  'build_exports_content',
  'validate_citations',
  'read_client_file',
  'list_client_directory',
  'guide_cache_file',
  'list_skills',
  'read_skill',
  'read_docstring',
  'search_tools',
  'call_tool',
];

const taskFixtures = new Set(taskTools.map(({ name }) => name));

for (const lane of lanes)
  describe(`over ${lane.transport} with MCP ${lane.version}`, () => {
    let connection: Connection;
    before(async () => void (connection = await connect(lane)));
    after(() => connection?.[Symbol.asyncDispose]());
    const call = (name: string, input: Record<string, unknown>) => callTool(connection.client, name, input);

    it('the client and the server agree on the version', () => {
      const { client } = connection;
      assert.equal(client.getNegotiatedProtocolVersion(), lane.version);
      assert.equal(client.getProtocolEra(), lane.version === '2026-07-28' ? 'modern' : 'legacy');
      assert.equal(client.getServerVersion()?.name, 'workcrate');
    });

    it('all tools are listed', async () => {
      const listed = (await connection.client.listTools()).tools.map(({ name }) => name);
      assert.deepEqual(
        listed.filter((name) => !/^test_|^json_/.test(name) && !taskFixtures.has(name)).toSorted(),
        tools.toSorted(),
      );
    });

    it('a file goes in by PUT and comes out by link, and its bytes pass no tool result', async () => {
      const bytes = randomBytes(100_000);
      const upload = await call('request_upload', { filename: 'a.bin', size: bytes.length });
      const put = await fetch(upload.data.uploadUrl, { method: 'PUT', body: bytes });
      assert.equal(put.status, 201);
      const { file_id } = (await put.json()) as { file_id: string };
      const shared = await call('share_file', { file_id });
      const got = await fetch(shared.data.downloadUrl);
      assert.deepEqual(Buffer.from(await got.arrayBuffer()), bytes);
      assert.ok(JSON.stringify(shared.raw).length < 2000);
      recordProof('C10:bytes-pass-the-context');
    });

    it('the links point at this machine', async () => {
      const { uploadUrl } = (await call('request_upload', { filename: 'a' })).data;
      const { origin, hostname } = new URL(uploadUrl);
      assert.equal(hostname, '127.0.0.1');
      if (connection.url !== null) assert.equal(origin, connection.url);
    });

    it('arguments that do not fit the schema are an error, and nothing happens', async () => {
      const { uploadUrl } = (await call('request_upload', { filename: 'stays' })).data;
      const { file_id } = (await (await fetch(uploadUrl, { method: 'PUT', body: 'x' })).json()) as {
        file_id: string;
      };
      for (const input of [{}, { file_id: 7 }, { file_id: '' }, { file_id, more: 1 }]) {
        const { raw } = await call('delete_file', input);
        assert.equal(raw.isError, true);
        assert.match(textOf(raw), /Invalid arguments for tool delete_file/);
      }
      const { files } = (await call('list_files', {})).data;
      assert.equal(files[0].file_id, file_id);
    });

    it('a tool that does not exist is an error that names it', async () => {
      await assert.rejects(call('make_coffee', {}), { code: -32_602, message: /make_coffee not found/ });
    });

    it('progress reaches the client, and cancellation the handler', async () => {
      const id = randomUUID();
      assert.equal((await call('test_was_cancelled', { call: id })).data.cancelled, false);
      const cancel = new AbortController();
      const steps: number[] = [];
      const onprogress = ({ progress }: { progress: number }): void => {
        if (steps.push(progress) === 3) cancel.abort();
      };
      const slow = connection.client.callTool(
        { name: 'test_cancellable', arguments: { call: id } },
        { signal: cancel.signal, onprogress },
      );
      await assert.rejects(slow);
      assert.deepEqual(steps.slice(0, 3), [1, 2, 3]);
      await eventually(async () => (await call('test_was_cancelled', { call: id })).data.cancelled);
    });

    it('code runs, and the result is for people and for programs', { skip: noSandbox }, async () => {
      const { data, raw } = await call('execute_code', { language: 'python', code: 'print(6 * 7)' });
      assert.deepEqual([data.stdout, data.exit_code, data.end_reason], ['42\n', 0, 'exit']);
      assert.match(textOf(raw), /^42\n/);
    });

    it('output comes while code runs, and cancelling kills it', { skip: noSandbox }, async () => {
      const cancel = new AbortController();
      const [word, heard] = [randomUUID(), [] as string[]];
      const onprogress = ({ message }: { message?: string | undefined }): void => {
        if (heard.push(message ?? '') > 0) cancel.abort();
      };
      const run = connection.client.callTool(
        { name: 'execute_bash', arguments: { command: `echo ${word}; sleep 60; echo late` } },
        { signal: cancel.signal, onprogress },
      );
      await assert.rejects(run);
      assert.ok(heard[0]!.includes(word));
      await eventually(async () => {
        const { executions } = (await call('search_executions', { text: word })).data;
        return executions[0]?.end_reason === 'cancelled';
      });
    });

    if (lane.transport === 'HTTP')
      it('a path is not shared, since the client may run elsewhere', async () => {
        const { code } = await call('share_file', { path: 'package.json' });
        assert.equal(code, 'unsupported');
      });
    else {
      it('a file is shared by its path below the folder that the server was started in', async () => {
        const { data } = await call('share_file', { path: 'results/plot.svg' });
        assert.equal(data.filename, 'plot.svg');
        assert.equal(await (await fetch(data.downloadUrl)).text(), '<svg/>');
      });

      for (const path of ['../outside.txt', '.env', 'way-out.txt', '/etc/passwd'])
        it(`${path} is refused`, async () => {
          assert.equal((await call('share_file', { path })).code, 'path_refused');
        });
    }
  });

interface Reply {
  readonly raw: CallToolResult;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
  readonly data: any;
  readonly code: string | undefined;
}

async function callTool(client: Client, name: string, input: Record<string, unknown>): Promise<Reply> {
  const raw = (await client.callTool({ name, arguments: input })) as CallToolResult;
  const error = raw._meta?.['workcrate/error'] as { code: string } | undefined;
  return { raw, data: raw.structuredContent, code: error?.code };
}

function textOf({ content }: CallToolResult): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
}
