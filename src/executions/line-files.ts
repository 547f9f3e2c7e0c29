/**
 * Files of lines, each of which is JSON: how they are read by lines, how lines are taken out, and what a loss of power
 * left of them is removed. It does not know what a line says.
 */
import { createReadStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';

/** Whole lines from a place on, without their ends. Where that is not the beginning, the first begins behind it. */
export async function* readLinesFrom(path: string, from: number): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let isPartial = from > 0;
  for await (const chunk of createReadStream(path, { start: from, highWaterMark: 1024 ** 2 })) {
    let begin = 0;
    for (let end; (end = (chunk as Buffer).indexOf(0x0a, begin)) !== -1; begin = end + 1) {
      const line = Buffer.concat([...rest, (chunk as Buffer).subarray(begin, end)]);
      rest = [];
      if (!isPartial) yield line;
      isPartial = false;
    }
    rest.push((chunk as Buffer).subarray(begin));
  }
}

/** Writes the file again with these of its whole lines alone. A crash leaves it as it was. */
export async function keepLines(path: string, isKept: (line: Buffer) => boolean): Promise<void> {
  const temporary = `${path}.new`;
  await rm(temporary, { force: true });
  {
    await using kept = await open(temporary, 'wx', 0o600);
    for await (const lines of batchLines(readLinesFrom(path, 0), isKept)) await kept.appendFile(lines);
    await kept.datasync();
  }
  await rename(temporary, path);
}

const newline = Buffer.from('\n');

async function* batchLines(
  lines: AsyncIterable<Buffer>,
  isKept: (line: Buffer) => boolean,
): AsyncGenerator<Buffer> {
  let [batch, bytes]: [Buffer[], number] = [[], 0];
  for await (const line of lines) {
    if (!isKept(line)) continue;
    batch.push(line, newline);
    bytes += line.length + 1;
    if (bytes < 1024 ** 2) continue;
    yield Buffer.concat(batch);
    [batch, bytes] = [[], 0];
  }
  yield Buffer.concat(batch);
}

/** Of a file, the end that may not have been synced: more than is written within a second. */
const unsyncedBytes = 32 * 1024 ** 2;

/**
 * Removes what a loss of power left at the end of a file in place of lines: NUL bytes where the length was on disk before
 * the bytes, and parts of lines. Programs that read line by line fail there. Not while the file is open elsewhere.
 */
export async function removeTornLines(path: string): Promise<boolean> {
  const { size } = await stat(path);
  if (!(await hasTornLine(path, size))) return false;
  await keepLines(path, isWhole);
  return true;
}

async function hasTornLine(path: string, size: number): Promise<boolean> {
  if (size > 0 && !(await endsWithNewline(path, size))) return true;
  for await (const line of readLinesFrom(path, Math.max(0, size - unsyncedBytes)))
    if (!isWhole(line)) return true;
  return false;
}

async function endsWithNewline(path: string, size: number): Promise<boolean> {
  await using file = await open(path, 'r');
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === newline[0];
}

function isWhole(line: Buffer): boolean {
  if (line.includes(0)) return false;
  try {
    JSON.parse(line.toString());
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}
