import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { auditOf } from '../audit/lines.testing.ts';
import { run, serve, temporaryFolder } from '../cli/program.testing.ts';
import { noSandbox } from '../code.testing.ts';

const env = { WORKCRATE_SANDBOX: 'bubblewrap' };

/** What a loss of power leaves: of the audit log what was synced, and nothing of a new journal. */
function loseUnsynced(data: string): void {
  rmSync(join(data, 'logs'), { recursive: true });
  const folder = join(data, 'audit');
  const head = JSON.parse(readFileSync(join(folder, 'audit-head.json'), 'utf8')) as {
    seq: number;
    file: string;
  };
  const path = join(folder, head.file);
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, head.seq);
  writeFileSync(path, `${lines.join('\n')}\n`);
}

const journalOf = (data: string): { execution_id: string; end_reason: string }[] =>
  readdirSync(join(data, 'logs'))
    .flatMap((file) =>
      readFileSync(join(data, 'logs', file), 'utf8')
        .trimEnd()
        .split('\n'),
    )
    .map((line) => JSON.parse(line) as { execution_id: string; end_reason: string });

it(
  'D9, E8: lines of runs that a loss of power took are written again from their rows, each once',
  {
    skip: noSandbox,
  },
  async () => {
    await using folder = await temporaryFolder();
    const start = () => serve(['--data', folder.path], { env });
    const ids: string[] = [];
    {
      await using server = await start();
      // The name of the file and the head come to disk with the first line that is synced.
      await server.call('request_upload', { filename: 'first' });
      for (let n = 0; n < 5; n++) {
        const { data } = await server.call('execute_code', { language: 'bash', code: `exit ${n}` });
        ids.push(data.execution_id as string);
      }
      await server.end('SIGKILL');
    }
    loseUnsynced(folder.path);
    for (let starts = 0; starts < 2; starts++) {
      await using server = await start();
      assert.equal(await server.end('SIGTERM'), 0);
      assert.deepEqual(
        journalOf(folder.path).map(({ execution_id, end_reason }) => [execution_id, end_reason]),
        ids.map((id) => [id, 'exit']),
      );
      const told = auditOf(folder.path).filter(({ operation }) => operation === 'execute_code');
      assert.deepEqual(
        told.map(({ subject }) => subject),
        ids,
      );
    }
    const { code, stdout } = await run(['audit', 'verify', '--data', folder.path]);
    assert.equal(code, 0, stdout);
  },
);
