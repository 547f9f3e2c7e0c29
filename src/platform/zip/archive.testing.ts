import { spawnSync } from 'node:child_process';
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { ZipEntry, ZipLayout, ZipPart } from './zip.ts';

export interface TestFile {
  name: string;
  bytes: Uint8Array;
  modified?: number;
}

export function entriesOf(files: readonly TestFile[]): ZipEntry[] {
  return files.map(({ name, bytes, modified = Date.UTC(2026, 6, 1) }) => {
    return { name, size: bytes.length, crc32: crc32(bytes), modified };
  });
}

export function assemble(
  layout: ZipLayout,
  files: readonly TestFile[],
  start = 0,
  end = layout.size,
): Buffer {
  return Buffer.concat([...layout.parts(start, end)].map((part) => bytesOf(part, files)));
}

function bytesOf(part: ZipPart, files: readonly TestFile[]): Uint8Array {
  return 'bytes' in part ? part.bytes : files[part.entry]!.bytes.subarray(part.start, part.end);
}

/** A folder that is gone after the test. */
export function temporaryFolder(): Disposable & { file(name: string): string } {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-zip-'));
  return {
    file: (name) => join(folder, name),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Writes the archive of files that hold only zeros, which take no space on the disk. */
export function writeSparse(path: string, layout: ZipLayout): void {
  const file = openSync(path, 'wx');
  let position = 0;
  for (const part of layout.parts(0, layout.size)) {
    if ('bytes' in part) position += writeSync(file, part.bytes, 0, part.bytes.length, position);
    else position += part.end - part.start;
  }
  ftruncateSync(file, position);
  closeSync(file);
}

/** The reason to skip a test that needs this program, or false where it is installed. */
export function missing(program: string): string | false {
  return spawnSync(program, ['--help']).error === undefined ? false : `${program} is not installed`;
}

export function run(program: string, args: readonly string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
  return { status, output: stdout + stderr };
}
