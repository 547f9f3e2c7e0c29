import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The project of a client: what may be asked for, and what may not. */
export interface Project extends AsyncDisposable {
  readonly root: string;
}

export const umlauts = 'Größe: 3 µm\nÄpfel, Öl, Übermaß – “naïve” 🧪\n';

/** No text in any encoding: every byte there is, and some twice. */
export const binary = Uint8Array.from({ length: 300 }, (_, index) => (index * 7) % 256);

export async function makeProject(): Promise<Project> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'workcrate-project-')));
  await mkdir(join(root, 'docs'), { recursive: true });
  await writeFile(join(root, 'secret.txt'), 'for nobody');
  await writeFile(join(root, '.env'), 'SECRET=1');
  return { root, [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }) };
}

/** A folder of their own below `docs`, so that no cell of the matrix finds what another has left in a cache. */
export async function furnish({ root }: Project, name: string): Promise<string> {
  const folder = `docs/${name}`;
  await mkdir(join(root, folder, 'deep', 'er'), { recursive: true });
  await writeFile(join(root, folder, 'grüße an alle.txt'), umlauts);
  await writeFile(join(root, folder, 'data.bin'), binary);
  await writeFile(join(root, folder, 'deep', 'er', "it's.txt"), 'far down');
  await writeFile(join(root, folder, 'deep', 'notes.md'), '# Notes');
  return folder;
}
