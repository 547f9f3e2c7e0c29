import { createHash, randomBytes } from 'node:crypto';
import type { Program } from '../../behaviour/cli/program.testing.ts';
import type { Ledger } from './ledger.testing.ts';

const largest = 300 * 1024;
const manyFiles = 300;

/** Several clients that send, share and delete, and note what was acknowledged, until the server is gone. */
export async function load(
  program: Program,
  ledger: Ledger,
  random: () => number,
  clients = 4,
): Promise<void> {
  await Promise.all(Array.from({ length: clients }, () => client(program, ledger, random)));
}

async function client(program: Program, ledger: Ledger, random: () => number): Promise<void> {
  try {
    for (;;) await step(program, ledger, random);
  } catch (error) {
    if (!program.ending) throw error;
  }
}

async function step(program: Program, ledger: Ledger, random: () => number): Promise<void> {
  const dice = random() * (ledger.kept.size > manyFiles ? 1.5 : 1);
  if (dice < 0.6) await send(program, ledger, random);
  else if (dice < 0.75) await share(program, ledger, random);
  else await remove(program, ledger, random);
}

/** Small files are the more likely, so that many operations come between two kills. */
async function send(program: Program, ledger: Ledger, random: () => number): Promise<void> {
  const filename = `${ledger.sent.size}.bin`;
  const bytes = randomBytes(Math.floor(random() ** 3 * largest));
  ledger.sent.set(filename, createHash('sha256').update(bytes).digest('hex'));
  const { data } = await program.call('request_upload', { filename });
  const path = new URL(data.uploadUrl as string).pathname;
  ledger.unanswered.set(path, filename);
  const answer = await fetch(`${program.url}${path}`, { method: 'PUT', body: bytes });
  const receipt = (await answer.json()) as { file_id: string; sha256: string };
  if (answer.status !== 201) throw new Error(`upload answered ${answer.status}`);
  ledger.unanswered.delete(path);
  ledger.kept.set(receipt.file_id, receipt.sha256);
}

async function share(program: Program, ledger: Ledger, random: () => number): Promise<void> {
  const file_id = anyOf([...ledger.kept.keys()], random);
  if (file_id === null) return;
  const { failed, data } = await program.call('share_file', { file_id });
  if (!failed) ledger.links.set(new URL(data.downloadUrl as string).pathname, file_id);
}

async function remove(program: Program, ledger: Ledger, random: () => number): Promise<void> {
  const file_id = anyOf([...ledger.kept.keys()], random);
  if (file_id === null) return;
  ledger.kept.delete(file_id);
  ledger.deleting.add(file_id);
  const { failed, text } = await program.call('delete_file', { file_id });
  if (failed) throw new Error(`delete_file: ${text}`);
  ledger.deleting.delete(file_id);
  ledger.deleted.add(file_id);
}

export function anyOf<T>(items: readonly T[], random: () => number): T | null {
  return items[Math.floor(random() * items.length)] ?? null;
}
