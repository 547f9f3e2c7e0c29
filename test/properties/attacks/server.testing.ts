import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Wall } from './attack.testing.ts';
import { startServer, type TestServer, type ToolReply } from '../../server.testing.ts';
import type { ServerAttack, ServerStage } from './server-stage.testing.ts';
import { artifactAttacks } from './server-artifacts.testing.ts';
import { diskAttacks } from './server-disk.testing.ts';
import { doorAttacks } from './server-doors.testing.ts';
import { packingAttacks } from './server-packing.testing.ts';
import { recordAttacks, recordShare } from './server-records.testing.ts';

export interface ServerVerdict {
  readonly name: string;
  readonly wall: Wall;
  readonly mustNotHappen: string;
  readonly how: string | null;
}

export const serverAttacks: readonly ServerAttack[] = [
  ...artifactAttacks,
  ...recordAttacks,
  ...doorAttacks,
  ...packingAttacks,
  ...diskAttacks,
];

/** A busy machine takes its time; what hangs does not end at all. */
const mostMs = 120_000;
const cleaning = 'chmod -R u+rwx /workspace /artifacts; find /workspace /artifacts -mindepth 1 -delete';

/** Plays them all on one server, with a real client. */
export async function playOnServer(): Promise<ServerVerdict[]> {
  await using server = await startServer({
    sandbox: 'bubblewrap',
    recordsUserBytes: recordShare,
    // A busy machine takes long to make thirty thousand files, and its answer is asked for.
    runTimeout: 100,
    detachAfter: 0,
  });
  const stage = stageOn(server);
  const verdicts: ServerVerdict[] = [];
  for (const { name, wall, mustNotHappen, play } of serverAttacks) {
    const before = digestOf(stage.secret.folder);
    const how = await inTime(play(stage)).catch((error: unknown) => `it failed: ${String(error)}`);
    const changed = digestOf(stage.secret.folder) === before ? null : 'a folder of the server was changed';
    verdicts.push({ name, wall, mustNotHappen, how: how ?? changed });
    await server.call('execute_code', { language: 'bash', code: cleaning, working_dir: '/tmp' });
  }
  return verdicts;
}

function stageOn(server: TestServer): ServerStage {
  const folder = join(server.data, 'secrets');
  const file = join(folder, 'secret.txt');
  const text = `canary-${createHash('sha256').update(server.data).digest('hex')}`;
  mkdirSync(folder, { mode: 0o755 });
  writeFileSync(file, text);
  const beside = (code: string): Promise<ToolReply> =>
    server.call('execute_code', { language: 'python', code, working_dir: '/workspace', timeout_ms: 15_000 });
  return {
    server,
    secret: { folder, file, text },
    beside,
    async run(code, more = {}) {
      const reply = await server.call('execute_bash', { command: code, ...more });
      if (reply.failed || reply.data.exit_code !== 0) throw new Error(`the attack failed: ${reply.text}`);
      return reply;
    },
  };
}

async function inTime<T>(work: Promise<T>): Promise<T | string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve(`the server did not answer within ${mostMs} ms`), mostMs);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

/** Of names, owners, modes and contents. */
function digestOf(folder: string): string {
  const lines = readdirSync(folder)
    .sort()
    .map((name) => {
      const path = join(folder, name);
      const { mode, uid, gid, nlink } = lstatSync(path);
      return `${name} ${mode} ${uid} ${gid} ${nlink} ${lstatSync(path).isFile() ? readFileSync(path, 'utf8') : ''}`;
    });
  const { mode, uid, gid } = lstatSync(folder);
  return [`${mode} ${uid} ${gid}`, ...lines].join('\n');
}
