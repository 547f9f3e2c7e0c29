/**
 * Files of random bytes and names through the upload rung: offered, sent by the client as the command would, read back.
 * Counts those of which a byte was changed, and compares the time with a plain upload and download by link.
 *
 *   node bench/client-uploads.ts [COUNT]
 */
import { createHash, randomBytes, randomInt } from 'node:crypto';
import { startProgram, temporaryFolder } from './program.ts';

const count = Number(process.argv[2] ?? 10_000);
using folder = temporaryFolder();
await using program = await startProgram({ data: folder.path, flags: ['--client-cache', '8MB'] });

const letters = ['a', 'B', '7', '-', '_', ' ', "'", 'ü', '漢', '🧪'];
const nameOf = (at: number): string =>
  `docs/${at}${Array.from({ length: randomInt(0, 12) }, () => letters[randomInt(letters.length)]).join('')}x.bin`;

let changed = 0;
const began = performance.now();
for (let at = 0; at < count; at++) {
  const bytes = randomBytes(randomInt(0, 20_000));
  if (!(await comesBack(nameOf(at), bytes))) changed++;
}
const bridged = (performance.now() - began) / count;

const plainCount = Math.min(count, 1000);
const plainBegan = performance.now();
for (let at = 0; at < plainCount; at++) {
  const { data } = await program.call('request_upload', { filename: 'x.bin' });
  const sent = await fetch(data['uploadUrl']!, { method: 'PUT', body: randomBytes(10_000) });
  const { file_id } = (await sent.json()) as { file_id: string };
  const link = await program.call('share_file', { file_id });
  await (await fetch(link.data['downloadUrl']!)).arrayBuffer();
}
const plain = (performance.now() - plainBegan) / plainCount;
console.log(`${count} files, ${changed} of which changed on their way (asked: none)`);
console.log(
  `${bridged.toFixed(2)} ms each, ${(bridged / plain).toFixed(2)} times an upload and a download by link`,
);
if (changed > 0) process.exitCode = 1;

async function comesBack(path: string, bytes: Buffer): Promise<boolean> {
  const input = { path, binary: true, via: 'upload' };
  const { data } = await program.call('read_client_file', input);
  const { uploadUrl } = data['offer'] as unknown as { uploadUrl: string };
  const sent = await fetch(uploadUrl, { method: 'PUT', body: bytes });
  await sent.arrayBuffer();
  const { data: read } = await program.call('read_client_file', input);
  const wanted = createHash('sha256').update(bytes).digest('hex');
  return read['sha256'] === wanted && read['data'] === bytes.toString('base64');
}
