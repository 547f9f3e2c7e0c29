import { PassThrough } from 'node:stream';
import type { SupervisorReport } from './supervisor.ts';

/** What comes out of a container that runs something. */
export interface ContainerOutputs {
  readonly stdout: PassThrough;
  readonly stderr: PassThrough;
  /** The supervisor's report, or null if the container ended without one. */
  readonly report: Promise<SupervisorReport | null>;
  /** What the run itself reported, which comes after that. */
  readonly reports: PassThrough;
  /**
   * Reads on although nobody consumes it, which is necessary before a kill: the engine waits for its streams. What can
   * still come is in the buffers of the engine, some 2 MB.
   */
  release(): void;
}

/** Reads the engine's stream. Backpressure: while an output is full it is not read, so the run waits. */
export function splitOutputs(stream: AsyncIterable<Uint8Array>, mark: Buffer): ContainerOutputs {
  const outputs = [new PassThrough(), new PassThrough()] as const;
  const reports = new PassThrough({ highWaterMark: 1024 ** 2 });
  const readers = [
    createTrailerReader(mark),
    createTrailerReader(mark, (bytes) => reports.write(bytes)),
  ] as const;
  let released = false;
  let wake = () => {};

  const copyFrames = async (): Promise<void> => {
    for await (const { output, bytes } of readDockerFrames(stream)) {
      const index = output === 1 ? 0 : 1;
      const isFull = !writeOutput(outputs[index], readers[index].take(bytes));
      if (isFull && !released) await waitForRoom(outputs[index], (resume) => void (wake = resume));
      if (readers[0].said !== null && hasAllReports(readers[1])) return;
    }
  };
  const readReport = async (): Promise<SupervisorReport | null> => {
    try {
      await copyFrames();
    } catch {
      // A connection that breaks is a container that is lost, which the missing report says.
    }
    for (const [index, output] of outputs.entries()) output.end(readers[index]!.rest());
    reports.end();
    const { said } = readers[1];
    return said === null ? null : (JSON.parse(said) as SupervisorReport);
  };
  return {
    stdout: outputs[0],
    stderr: outputs[1],
    report: readReport(),
    reports,
    release() {
      released = true;
      wake();
    },
  };
}

function hasAllReports({ said, tailBytes }: TrailerReader): boolean {
  return said !== null && tailBytes >= ((JSON.parse(said) as Partial<SupervisorReport>).reportBytes ?? 0);
}

/** False if it is full. An output that is no longer read does not block the other. */
function writeOutput(output: PassThrough, bytes: Buffer): boolean {
  return bytes.length === 0 || output.destroyed || output.write(bytes);
}

async function waitForRoom(output: PassThrough, waking: (resume: () => void) => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  waking(resolve);
  output.once('drain', resolve).once('close', resolve);
  await promise;
  output.off('drain', resolve).off('close', resolve);
}

const headerBytes = 8;

/** A part of the output of a container: 1 is its stdout, 2 its stderr. */
export interface DockerPiece {
  readonly output: number;
  readonly bytes: Buffer;
}

/**
 * Splits the engine's stream into frames: a header of eight bytes, the output first and the length last. Pieces are
 * passed on as they come and never joined, so a frame of any length takes no memory.
 */
export async function* readDockerFrames(stream: AsyncIterable<Uint8Array>): AsyncGenerator<DockerPiece> {
  let header = Buffer.alloc(0);
  let output = 0;
  let left = 0;
  for await (const chunk of stream) {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    while (rest.length > 0) {
      if (left > 0) {
        const bytes = rest.subarray(0, left);
        left -= bytes.length;
        rest = rest.subarray(bytes.length);
        yield { output, bytes };
        continue;
      }
      const missing = headerBytes - header.length;
      header = Buffer.concat([header, rest.subarray(0, missing)]);
      rest = rest.subarray(missing);
      if (header.length < headerBytes) break;
      output = header[0]!;
      left = header.readUInt32BE(4);
      header = Buffer.alloc(0);
    }
  }
}

/** The supervisor's report is never longer: its longest part are the names of 20 files, six bytes for each character. */
const maxTrailerBytes = 64 * 1024;

export interface TrailerReader {
  /** The part of the piece that belongs to the run. */
  take(piece: Buffer): Buffer;
  /** What was kept back, once nothing more comes. */
  rest(): Buffer;
  /** What came after the mark, up to the end of its line, or null while that has not come. */
  readonly said: string | null;
  /** How much came after that line. */
  readonly tailBytes: number;
}

/**
 * Finds what the supervisor adds to an output after the run: a mark that the run cannot know, and a line. Only bytes that
 * could be the beginning of the mark are kept back, so output streams on.
 */
export function createTrailerReader(mark: Buffer, onTail: (bytes: Buffer) => void = () => {}): TrailerReader {
  let held = Buffer.alloc(0);
  /** What came after the mark, as long as its line is not complete. */
  let line: Buffer | null = null;
  let said: string | null = null;
  let tailBytes = 0;

  const takeTail = (bytes: Buffer): void => {
    tailBytes += bytes.length;
    if (bytes.length > 0) onTail(Buffer.from(bytes));
  };
  const takeAfterMark = (bytes: Buffer): void => {
    if (said !== null) return takeTail(bytes);
    line = line === null ? Buffer.from(bytes) : Buffer.concat([line, bytes]);
    const end = line.indexOf('\n');
    if (end < 0) return void (line = line.subarray(0, maxTrailerBytes));
    said = line.toString('utf8', 0, end);
    takeTail(line.subarray(end + 1));
    line = Buffer.alloc(0);
  };

  return {
    take(piece) {
      if (line !== null) {
        takeAfterMark(piece);
        return Buffer.alloc(0);
      }
      const bytes = held.length === 0 ? piece : Buffer.concat([held, piece]);
      const at = bytes.indexOf(mark);
      const end = at >= 0 ? at : bytes.length - countMarkBytesAtEnd(bytes, mark);
      held = at >= 0 ? Buffer.alloc(0) : Buffer.from(bytes.subarray(end));
      if (at >= 0) takeAfterMark(bytes.subarray(at + mark.length));
      return bytes.subarray(0, end);
    },
    rest: () => held,
    get said() {
      return said;
    },
    get tailBytes() {
      return tailBytes;
    },
  };
}

/** How many of the last bytes are the first of the mark. */
function countMarkBytesAtEnd(bytes: Buffer, mark: Buffer): number {
  for (let length = Math.min(bytes.length, mark.length - 1); length > 0; length--)
    if (bytes.subarray(bytes.length - length).equals(mark.subarray(0, length))) return length;
  return 0;
}
