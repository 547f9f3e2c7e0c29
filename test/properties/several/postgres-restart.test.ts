import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { run, temporaryFolder, type Program } from '../../behaviour/cli/program.testing.ts';
import { listAll } from '../durability/ledger.testing.ts';
import { startPostgres } from '../../../src/ports/database/postgres.testing.ts';
import { startTeam, type Team } from './team.testing.ts';

const postgres = await startPostgres();
const made = await startTeam(postgres);
const skip = typeof made === 'string' && made;

it(
  'PostgreSQL restarted under load costs calls a clear error at most: nothing acknowledged is lost, and the servers go on',
  { skip },
  async () => {
    await using team = made as Team;
    const servers = [await team.start(), await team.start()];
    const kept = new Map<string, string>();
    const refused: string[] = [];
    const stop = new AbortController();

    const send = async (program: Program): Promise<void> => {
      const bytes = randomBytes(1 + Math.floor(Math.random() * 50_000));
      const { data, failed, text } = await program.call('request_upload', { filename: 'x.bin' });
      if (failed) return void refused.push(text);
      const answer = await fetch(data.uploadUrl as string, { method: 'PUT', body: bytes });
      const said = (await answer.json()) as { file_id: string; code: string };
      if (answer.status !== 201) return void refused.push(`${answer.status} (${said.code})`);
      kept.set(said.file_id, createHash('sha256').update(bytes).digest('hex'));
    };
    const client = async (program: Program): Promise<void> => {
      while (!stop.signal.aborted) await send(program);
    };
    const clients = Promise.all([...servers, ...servers].map(client));
    for (let round = 0; round < 3; round++) {
      await pause(700);
      await postgres!.restart();
    }
    // What was under way at the restart may be among the first of them.
    const before = kept.size;
    await eventually(() => kept.size > before + 20);
    stop.abort();
    await clients;
    for (const answer of refused) assert.match(answer, /^(?:The database failed|503 \(database_failed\)$)/);

    const listed = await listAll(servers[0]!);
    for (const [file_id, hash] of kept) assert.equal(listed.get(file_id)?.sha256, hash);
    for (const server of servers) await server.end('SIGTERM');
    await using folder = await temporaryFolder();
    const { stdout } = await run(['check', '--read-data', '--data', folder.path], { env: team.env });
    assert.match(stdout, /all is well/);
  },
);
