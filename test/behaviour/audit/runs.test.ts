import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noSandbox, useCodeServer } from '../../code.testing.ts';
import { upload } from '../../server.testing.ts';
import { audited } from './lines.testing.ts';

describe('the audit of runs and bundles', { skip: noSandbox }, () => {
  const server = useCodeServer({ warmPython: 0 });
  const run = { language: 'bash', code: 'exit 3' };

  it('a run is told with how it ended, and one that was cancelled is no success', async () => {
    await server().call('execute_code', run);
    const cancel = new AbortController();
    const slow = server().client.callTool(
      { name: 'execute_code', arguments: { language: 'bash', code: 'echo first; sleep 60' } },
      { signal: cancel.signal, onprogress: () => cancel.abort() },
    );
    await assert.rejects(slow);
    const lines = await audited(server().data, ({ operation }) => operation === 'execute_code', 2);
    assert.deepEqual(
      lines.map(({ level, result, details }) => [level, result, details]),
      [
        ['trace', 'ok', { end_reason: 'exit', exit_code: 3 }],
        ['info', 'cancelled', { end_reason: 'cancelled', exit_code: null }],
      ],
    );
    assert.ok(lines.every(({ subject }) => /^exec_\w+$/.test(subject!)));
  });

  it('a run on a file of the client’s that is refused is told, and so is the file', async () => {
    const client_files = [{ path: '../../etc/passwd' }];
    const { code } = await server().call('execute_code', { ...run, client_files });
    assert.equal(code, 'path_refused');
    const lines = await audited(server().data, ({ result }) => result === 'path_refused', 2);
    assert.deepEqual(
      lines.map(({ level, operation, details }) => [level, operation, details?.['repeats']]),
      [
        ['warning', 'read_client_file', 0],
        ['warning', 'execute_code', 0],
      ],
    );
    assert.equal(lines[1]!.details?.['kind'], lines[0]!.details?.['kind']);
    assert.equal(lines[1]!.details?.['files'], '../../etc/passwd');
  });

  it('a bundle is told with the files in it', async () => {
    const file_ids = [await upload(server(), 'a', '1'), await upload(server(), 'b', '2')];
    await server().call('bundle_files', { file_ids });
    const [line] = await audited(server().data, ({ operation }) => operation === 'bundle_files');
    assert.equal(line!.subject, 'files.zip');
    assert.deepEqual([line!.details?.['files'], line!.details?.['files_count']], [file_ids.join(' '), 2]);
  });
});
