import { yieldToEventLoop } from '../concurrency/yield.ts';
import type { ResponseClient } from './client.ts';
import { getErrorCode, fillAtOnce, sendPooled, takeTiny, objectTruncatedError } from './reading.ts';
import type { FileRange } from './transfer.ts';

/**
 * sendfile(2): how many bytes of the file went into the socket, 0 at the end of the file, -1 where the kernel took
 * none. The reason for a -1 is not returned: errno could be overwritten before it is read, so the caller finds the
 * reason by an ordinary write, whose errors Node reports.
 */
export type Sendfile = (socket: number, file: number, start: number, count: number) => number;

type Ffi = typeof import('node:ffi');

/** Node says that its FFI is experimental when it is first loaded, and that warning alone is kept quiet. */
function loadFfi(): Ffi | null {
  const emitWarning = process.emitWarning;
  process.emitWarning = () => {};
  try {
    return process.getBuiltinModule('node:ffi') ?? null;
  } finally {
    process.emitWarning = emitWarning;
  }
}

const SIGNATURE = { sendfile: { arguments: ['i32', 'i32', 'pointer', 'u64'], return: 'i64' } } as const;

function bindSendfile(ffi: Ffi): Sendfile {
  const { sendfile } = ffi.dlopen(null, SIGNATURE).functions;
  // On an ArrayBuffer of its own, since the garbage collector may move a small typed array.
  const offset = new BigInt64Array(new ArrayBuffer(8));
  const pointer = ffi.getRawPointer(offset.buffer);
  return (socket, file, start, count) => {
    offset[0] = BigInt(start);
    return Number(sendfile(socket, file, pointer, BigInt(count)));
  };
}

const UNAVAILABLE = new Set(['ERR_ACCESS_DENIED', 'ERR_FFI_CALL_FAILED']);

/** Null on other systems, on 32 bits (another off_t), in a Node without FFI or without leave to use it. */
function loadSendfile(): Sendfile | null {
  if (process.platform !== 'linux' || !/64/.test(process.arch)) return null;
  const ffi = loadFfi();
  if (ffi === null) return null;
  try {
    return bindSendfile(ffi);
  } catch (error) {
    if (UNAVAILABLE.has(getErrorCode(error))) return null;
    throw error;
  }
}

let loaded: Sendfile | null | undefined;

/** The call, loaded when it is first wanted; null where this process cannot make it. */
export function sendfileCall(): Sendfile | null {
  if (loaded === undefined) loaded = loadSendfile();
  return loaded;
}

/** After this many bytes of one client the others get their turn. */
export const TURN_BYTES = 2 * 1024 * 1024;

/** So many refusals before the first byte mean that sendfile does not work on this file at all. */
const REFUSALS = 8;

/** Lets the kernel move the bytes from the page cache to the socket: nothing is copied through this process. */
export function sendByKernel(
  client: ResponseClient,
  sendfile: Sendfile,
  range: FileRange,
): void | Promise<void> {
  const moved = moveBytes(client, sendfile, range);
  // What fits into the socket at once, as 100 KB do, is done without a promise.
  if (moved < range.end - range.start) return sendRest(client, sendfile, skipBytes(range, moved));
}

async function sendRest(client: ResponseClient, sendfile: Sendfile, range: FileRange): Promise<void> {
  let [rest, refusals, works] = [range, 0, false];
  while (rest.start < rest.end) {
    const moved = moveBytes(client, sendfile, rest);
    if (moved === 0) throw objectTruncatedError();
    works ||= moved > 0;
    rest = skipBytes(rest, moved);
    if (moved === TURN_BYTES) await yieldToEventLoop();
    else rest = skipBytes(rest, await sendOneChunk(client, rest));
    if (!works && (refusals += 1) === REFUSALS) return sendPooled(client, rest);
  }
}

function moveBytes(client: ResponseClient, sendfile: Sendfile, { file, start, end }: FileRange): number {
  const asked = Math.min(end - start, TURN_BYTES);
  return client.withDescriptor((socket) => sendfile(socket, file, start, asked));
}

const skipBytes = (range: FileRange, moved: number) => ({
  ...range,
  start: range.start + Math.max(moved, 0),
});

/**
 * For a full socket: an ordinary write waits for room, and reports what else may be wrong with it. Its
 * chunk is tiny, since whatever is written so is copied, and every client that is slower than we are has one.
 */
async function sendOneChunk(client: ResponseClient, { file, start, end }: FileRange): Promise<number> {
  if (start === end) return 0;
  using buffer = takeTiny();
  const bytes = buffer.bytes.subarray(0, end - start);
  fillAtOnce(file, bytes, start);
  await client.write(bytes);
  return bytes.length;
}
