/**
 * `npm run mcpb`: writes the bundle for desktop apps (`.mcpb`, a ZIP of packaging/mcpb/ and the licence) into a folder, dist/ unless
 * one is named. Equal sources make equal bytes.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { createZipLayout } from '../src/platform/zip/zip.ts';

const root = join(import.meta.dirname, '..');
const files = {
  'manifest.json': 'packaging/mcpb/manifest.json',
  'bridge.mjs': 'packaging/mcpb/bridge.mjs',
  LICENSE: 'LICENSE',
};

/** All files have this time. */
const modified = Date.UTC(2026, 0, 1);

async function buildBundle(): Promise<Buffer> {
  const entries = await Promise.all(
    Object.entries(files).map(async ([name, path]) => {
      const bytes = await readFile(join(root, path));
      return { name, size: bytes.length, crc32: crc32(bytes), modified, bytes };
    }),
  );
  const layout = createZipLayout(entries);
  const parts = [...layout.parts(0, layout.size)];
  return Buffer.concat(
    parts.map((part) =>
      'bytes' in part ? part.bytes : entries[part.entry]!.bytes.subarray(part.start, part.end),
    ),
  );
}

const folder = process.argv[2] ?? join(root, 'dist');
await mkdir(folder, { recursive: true });
const target = join(folder, 'workcrate.mcpb');
await writeFile(target, await buildBundle());
process.stdout.write(`${target}\n`);
