import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { startServer, upload, type TestServer } from '../../server.testing.ts';
import type { ServerAttack } from './server-stage.testing.ts';

const megabyte = 1024 ** 2;
const limit = 20 * megabyte;
/** Three of them do not fit. */
const inputBytes = 8 * megabyte;

/** Attacks on the disk by what the server itself writes for runs. */
export const diskAttacks: readonly ServerAttack[] = [
  {
    name: 'has inputs copied past the disk limit, by calls one after the other',
    wall: 'disk',
    mustNotHappen: 'the server copies what does not fit, even for calls that it refuses',
    play: () => copyInputs(1),
  },
  {
    name: 'has inputs copied past the disk limit, by calls at once',
    wall: 'disk',
    mustNotHappen: 'calls get together what one alone is refused',
    play: () => copyInputs(6),
  },
];

async function copyInputs(atOnce: number): Promise<string | null> {
  const warm = { warmPython: 0, warmNode: 0, warmBash: 1 };
  await using server = await startServer({ sandbox: 'bubblewrap', runDisk: limit, ...warm });
  const file = await upload(server, 'data.bin', Buffer.alloc(inputBytes, 1));
  // A copy that a run leaves as it was would go with the run.
  const input = { language: 'bash', code: 'echo >> data.bin', files: [file] };
  for (let round = 0; round < 12 / atOnce; round++) {
    const replies = await Promise.all(
      Array.from({ length: atOnce }, () => server.call('execute_code', input)),
    );
    const other = replies.find(({ code }) => code !== null && code !== 'quota_exceeded');
    if (other !== undefined) return `answered ${other.code}`;
    const bytes = bytesInPlaces(server);
    if (bytes > limit) return `${bytes} bytes`;
  }
  return bytesInPlaces(server) === 0 ? 'it was not tried' : null;
}

function bytesInPlaces({ data }: TestServer): number {
  const names = readdirSync(join(data, 'places'), { recursive: true, encoding: 'utf8' });
  return names.reduce((sum, name) => {
    const stats = statSync(join(data, 'places', name));
    return sum + (stats.isFile() ? stats.size : 0);
  }, 0);
}
