import { open } from 'node:fs/promises';

/** Makes renames, links and removals in a folder durable: without it, power loss can undo them. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync();
}
