import { errorCodeOf } from './failures.ts';

/**
 * sendfile(2): how many bytes of the file went into the socket, 0 at the end of the file, -1 where the kernel
 * took none. The reason of a -1 is not told: errno could be overwritten between the call and the reading of
 * it, so the caller finds it out by an ordinary write, whose errors Node reports.
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

function bind(ffi: Ffi): Sendfile {
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
function load(): Sendfile | null {
  if (process.platform !== 'linux' || !/64/.test(process.arch)) return null;
  const ffi = loadFfi();
  if (ffi === null) return null;
  try {
    return bind(ffi);
  } catch (error) {
    if (UNAVAILABLE.has(errorCodeOf(error))) return null;
    throw error;
  }
}

let loaded: Sendfile | null | undefined;

/** The call, loaded when it is first wanted; null where this process cannot make it. */
export function sendfileCall(): Sendfile | null {
  if (loaded === undefined) loaded = load();
  return loaded;
}
