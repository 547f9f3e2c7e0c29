import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { auditOf } from '../../behaviour/audit/lines.testing.ts';
import { run, serve, temporaryFolder, upload } from '../../behaviour/cli/program.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { losableDisk } from './power-loss.testing.ts';

const env = { WORKCRATE_SANDBOX: 'bubblewrap' };

/** What a loss of power leaves: of the audit log what was synced, and of new logs their length, filled with zeros. */
function loseUnsynced(data: string): void {
  for (const file of readdirSync(join(data, 'logs'))) {
    const path = join(data, 'logs', file);
    writeFileSync(path, Buffer.alloc(statSync(path).size));
  }
  const folder = join(data, 'audit');
  const head = JSON.parse(readFileSync(join(folder, 'audit-head.json'), 'utf8')) as {
    seq: number;
    file: string;
  };
  const path = join(folder, head.file);
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, head.seq);
  writeFileSync(path, `${lines.join('\n')}\n`);
}

/** Every line of the logs has to be JSON. */
const journalOf = (data: string): { execution_id: string; end_reason: string }[] =>
  readdirSync(join(data, 'logs'))
    .toSorted()
    .flatMap((file) =>
      readFileSync(join(data, 'logs', file), 'utf8')
        .trimEnd()
        .split('\n'),
    )
    .map((line) => JSON.parse(line) as { event?: string; execution_id: string; end_reason: string })
    .filter(({ event }) => event === undefined);

it(
  'lines of runs that a loss of power took are written again from their rows, each once',
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
      await server.call('start_session', { language: 'bash' });
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

it(
  'after a power loss every acknowledged run and action has its line, and no run has two',
  {
    skip: noSandbox,
  },
  async (t) => {
    await using disk = await losableDisk(t);
    if (disk === null) return;
    const data = join(disk.path, 'data');
    const start = () => serve(['--data', data], { env, program: disk.program });
    const ids: string[] = [];
    const subjects: string[] = [];
    for (let round = 0; round < 3; round++) {
      {
        await using server = await start();
        for (let n = 0; n < 3; n++) {
          const { data: ran } = await server.call('execute_code', { language: 'bash', code: `exit ${n}` });
          ids.push(ran.execution_id as string);
          const { file_id } = await upload(server, `${round}-${n}.txt`, 'bytes');
          await server.call(n === 0 ? 'delete_file' : 'share_file', { file_id });
          subjects.push(`${round}-${n}.txt`, file_id);
        }
        disk.cutPower();
      }
      disk.mountAgain();
    }
    {
      await using server = await start();
      assert.equal(await server.end('SIGTERM'), 0);
    }
    const [, , ...inside] = disk.program.toReversed();
    const read = (script: string): string[] => readInside(inside.toReversed(), script);
    const lines = read(`cat ${data}/logs/*`).map((line) => JSON.parse(line) as { execution_id: string });
    assert.deepEqual(
      lines.map(({ execution_id }) => execution_id),
      ids,
    );
    const audited = read(`cat ${data}/audit/*.jsonl | grep -a '^{.*}$'`).map(
      (line) => JSON.parse(line) as { subject: string },
    );
    for (const subject of [...ids, ...subjects])
      assert.ok(
        audited.some((line) => line.subject === subject),
        `no line about ${subject}`,
      );
    const { code, stdout } = await run(['audit', 'verify', '--data', data], { program: disk.program });
    assert.equal(code, 0, stdout);
  },
);

/** The lines that a command prints which sees the disk. What a loss left of the audit log is never taken out of it. */
function readInside(inside: readonly string[], script: string): string[] {
  const { stdout } = spawnSync(inside[0]!, [...inside.slice(1), 'sh', '-c', script], { encoding: 'utf8' });
  return stdout.trimEnd().split('\n');
}
