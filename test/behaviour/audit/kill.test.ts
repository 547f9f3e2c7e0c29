import assert from 'node:assert/strict';
import { it } from 'node:test';
import { run, serve, temporaryFolder, upload, type Program } from '../cli/program.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { auditOf } from './lines.testing.ts';

interface Action {
  readonly operation: string;
  readonly sandbox?: true;
  /** What has to be there first. */
  prepare?(server: Program): Promise<string>;
  /** Resolves when the answer has arrived, with what the line is about. */
  act(server: Program, prepared: string): Promise<string>;
}

const stored = async (server: Program): Promise<string> => (await upload(server, 'a.txt', 'bytes')).file_id;

const actions: readonly Action[] = [
  {
    operation: 'upload',
    prepare: async (server) =>
      (await server.call('request_upload', { filename: 'sent.txt' })).data.uploadUrl as string,
    async act(_, url) {
      await fetch(url, { method: 'PUT', body: 'bytes' });
      return 'sent.txt';
    },
  },
  {
    operation: 'delete_file',
    prepare: stored,
    async act(server, file_id) {
      await server.call('delete_file', { file_id });
      return file_id;
    },
  },
  {
    operation: 'share_file',
    prepare: stored,
    async act(server, file_id) {
      await server.call('share_file', { file_id });
      return file_id;
    },
  },
  {
    operation: 'execute_code',
    sandbox: true,
    async act(server) {
      const { data } = await server.call('execute_code', { language: 'bash', code: 'echo done' });
      return data.execution_id as string;
    },
  },
];

const rounds = 3;

for (const { operation, sandbox, prepare, act } of actions)
  it(
    `the line of an acknowledged ${operation} is there after a kill -9 at the answer`,
    {
      skip: sandbox === true && noSandbox,
    },
    async () => {
      await using folder = await temporaryFolder();
      const env = sandbox === true ? { WORKCRATE_SANDBOX: 'bubblewrap' } : {};
      for (let round = 0; round < rounds; round++) {
        await using server = await serve(['--data', folder.path], { env });
        const prepared = (await prepare?.(server)) ?? '';
        const subject = await act(server, prepared);
        process.kill(server.pid, 'SIGKILL');
        await server.end('SIGKILL');
        const found = auditOf(folder.path).filter(
          (line) => line.operation === operation && line.subject === subject && line.result === 'ok',
        );
        assert.ok(found.length > 0, `round ${round}: no line about ${subject}`);
      }
      const { code, stdout } = await run(['audit', 'verify', '--data', folder.path]);
      assert.equal(code, 0, stdout);
    },
  );
