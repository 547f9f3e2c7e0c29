import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestSource } from '../../../ports/storage/source.contract.ts';
import type { CrateLocation } from '../crate.ts';
import { ownedByEverybody, toCrateLocation } from './discover.ts';
import { createFolderSource } from './folder-source.ts';

/** A folder of the test's own as a source. */
export async function testFolder(): Promise<TestSource & { readonly directory: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'workcrate-source-'));
  const source = createFolderSource(directory);
  return {
    source,
    directory,
    many: 3_000_000,
    takesControls: true,
    async write(name, bytes) {
      await mkdir(dirname(join(directory, name)), { recursive: true });
      await writeFile(join(directory, name), bytes);
    },
    remove: (name) => rm(join(directory, name)),
    async [Symbol.asyncDispose]() {
      await source.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Makes many empty files. At once, since one after the other in the background takes longer than the test. */
export function fill({ directory }: { readonly directory: string }, names: readonly string[]): void {
  for (const folder of new Set(names.map((name) => dirname(join(directory, name)))))
    mkdirSync(folder, { recursive: true });
  for (const name of names) writeFileSync(join(directory, name), '');
}

/** Where an object is as a crate, which it has to look like. */
export async function placeIn({ source }: TestSource, name: string): Promise<CrateLocation> {
  return toCrateLocation(source, (await source.stat(name))!, ownedByEverybody)!;
}
