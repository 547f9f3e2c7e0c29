/**
 * 1,000 downloads at once with 500 slow clients beside them: is every byte right, how much memory does it take?
 *
 *   node bench/crowd.ts
 */
import { createHash, randomBytes } from 'node:crypto';
import { Agent, get, type IncomingMessage } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { shareFrom, startProgram, temporaryFolder, uploadTo } from './program.ts';

const downloads = 1000;
const slowClients = 500;
const fileSize = 4 * 1024 * 1024;
const agent = new Agent({ maxSockets: Infinity });

using folder = temporaryFolder();
await using program = await startProgram({ data: folder.path });
const bytes = randomBytes(fileSize);
const expected = createHash('sha256').update(bytes).digest('hex');
const url = await shareFrom(program, await uploadTo(program, 'crowd.bin', bytes));
const before = program.peakMegabytes();

const slow = await Promise.all(Array.from({ length: slowClients }, () => respond(url)));
for (const response of slow) void dribble(response);
const started = performance.now();
const hashes = await Promise.all(Array.from({ length: downloads }, () => hashOf(url)));
const seconds = (performance.now() - started) / 1000;
const stillSlow = slow.filter((response) => !response.destroyed && !response.complete).length;
for (const response of slow) response.destroy();

console.table({
  'downloads at once': downloads,
  'slow clients beside them': slowClients,
  'of these still going at the end': stillSlow,
  'wrong downloads': hashes.filter((hash) => hash !== expected).length,
  seconds: Number(seconds.toFixed(1)),
  'peak RSS before, MB': Math.round(before),
  'peak RSS, MB (at most 300)': Math.round(program.peakMegabytes()),
});

function respond(target: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  get(target, { agent }, resolve).on('error', reject);
  return promise;
}

/** Reads a little, and then a little more. */
async function dribble(response: IncomingMessage): Promise<void> {
  response.on('error', () => {});
  while (!response.destroyed && !response.complete) {
    response.read(1024);
    await wait(200);
  }
}

async function hashOf(target: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of await respond(target)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
