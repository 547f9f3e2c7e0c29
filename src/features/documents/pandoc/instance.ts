import { toContentBytes, listJobFiles, pandocOutputFile } from './job.ts';
import type { PandocJob } from './pandoc.ts';

/** @bjorn3/browser_wasi_shim emulates WASI in memory. */
export type WasiShim = typeof import('@bjorn3/browser_wasi_shim');

export interface PandocInstanceOptions {
  /** Memory limit of its process. */
  readonly memoryBytes: number;
  /** Seconds since 1970 that every clock shows; null: the real time. */
  readonly epoch: number | null;
}

/** One Pandoc in WebAssembly. It has a folder in memory and access to nothing else. */
export interface PandocInstance {
  convert(job: PandocJob): PandocConversion;
  /** What it uses; this only grows. */
  readonly memoryBytes: number;
}

/** `complaint` is its error message, if there is no output. */
export interface PandocConversion {
  readonly output: Uint8Array;
  readonly complaint: string;
  readonly log: string;
}

interface PandocExports {
  readonly memory: WasmMemory;
  malloc(bytes: number): number;
  __wasm_call_ctors(): void;
  hs_init_with_rtsopts(argc: number, argv: number): void;
  convert(options: number, bytes: number): void;
}

/** A large nursery saves a tenth of the time. Beyond `-M`, Pandoc fails with an error of its own. */
const buildRuntimeOptions = (memoryBytes: number): string[] => [
  '-A64m',
  '-n4m',
  `-M${toHeapBytes(memoryBytes)}`,
];

/** Memory of a process with all of Pandoc's code and no document. */
const pandocCodeBytes = 400 * 1024 ** 2;
const minPandocHeapBytes = 100 * 1024 ** 2;
/** WebAssembly has 32-bit addresses. */
const maxPandocHeapBytes = 3 * 1024 ** 3;

const toHeapBytes = (memoryBytes: number): number =>
  Math.min(Math.max(memoryBytes - pandocCodeBytes, minPandocHeapBytes), maxPandocHeapBytes);

export async function openPandocInstance(
  module: WasmModule,
  shim: WasiShim,
  { memoryBytes, epoch }: PandocInstanceOptions,
): Promise<PandocInstance> {
  const words = ['pandoc', '+RTS', ...buildRuntimeOptions(memoryBytes), '-RTS'];
  const files: WasiFolder = new Map();
  const stderrLines: string[] = [];
  const env = epoch === null ? [] : [`SOURCE_DATE_EPOCH=${epoch}`];
  const open = [
    new shim.OpenFile(new shim.File([])),
    shim.ConsoleStdout.lineBuffered(() => {}),
    shim.ConsoleStdout.lineBuffered(
      (line) => void (stderrLines.length < maxStderrLines && stderrLines.push(line)),
    ),
    new shim.PreopenDirectory('/', files),
  ];
  // Without this it prints every step to stdout.
  const wasi = new shim.WASI(words, env, open, { debug: false });
  const memory = (): WasmMemory => exports.memory;
  const imports = { ...wasi.wasiImport, ...(epoch === null ? {} : createFixedClock(epoch, memory)) };
  const instance = await webAssembly.instantiate(module, { wasi_snapshot_preview1: imports });
  const exports = instance.exports as unknown as PandocExports;
  wasi.initialize(instance as Parameters<typeof wasi.initialize>[0]);
  exports.__wasm_call_ctors();
  initializeHaskell(exports, words);
  return {
    convert: (job) => convertInInstance({ exports, files, shim, stderrLines }, job),
    get memoryBytes() {
      return exports.memory.buffer.byteLength;
    },
  };
}

type WasiFolder = Map<string, InstanceType<WasiShim['File']> | InstanceType<WasiShim['Directory']>>;

const maxStderrLines = 100;

interface PandocInternals {
  readonly exports: PandocExports;
  readonly files: WasiFolder;
  readonly shim: WasiShim;
  readonly stderrLines: string[];
}

function convertInInstance(
  { exports, files, shim, stderrLines }: PandocInternals,
  job: PandocJob,
): PandocConversion {
  const empty = (): InstanceType<WasiShim['File']> => new shim.File([]);
  const [output, stdout, stderr, warnings] = [empty(), empty(), empty(), empty()];
  files.clear();
  for (const [name, bytes] of listJobFiles(job)) files.set(name, new shim.File(bytes, { readonly: true }));
  files.set('stdin', new shim.File(toContentBytes(job.input), { readonly: true }));
  const own = { stdout, stderr, warnings, [pandocOutputFile]: output };
  for (const [name, file] of Object.entries(own)) files.set(name, file);
  const options = Buffer.from(JSON.stringify({ ...job.options, 'output-file': pandocOutputFile }));
  stderrLines.length = 0;
  try {
    exports.convert(copyToWasmMemory(exports, options), options.length);
  } catch (error) {
    // The Haskell runtime prints the reason before it fails.
    throw new Error(stderrLines.join('\n') || String(error), { cause: error });
  } finally {
    files.clear();
  }
  return { output: output.data, complaint: decodeWasiText(stderr.data), log: decodeWasiText(warnings.data) };
}

const decodeWasiText = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

/** Copies bytes into Pandoc's memory, with a zero at the end, like a C string. */
function copyToWasmMemory({ memory, malloc }: PandocExports, bytes: Uint8Array): number {
  const at = malloc(bytes.length + 1);
  const target = new Uint8Array(memory.buffer, at, bytes.length + 1);
  target.set(bytes);
  target[bytes.length] = 0;
  return at;
}

/** Starts the Haskell runtime, which takes pointers to its command line, as in C. */
function initializeHaskell(exports: PandocExports, words: readonly string[]): void {
  const texts = words.map((word) => copyToWasmMemory(exports, Buffer.from(word)));
  const argv = copyToWasmMemory(exports, encodeUint32s(...texts, 0));
  exports.hs_init_with_rtsopts(
    copyToWasmMemory(exports, encodeUint32s(words.length)),
    copyToWasmMemory(exports, encodeUint32s(argv)),
  );
}

/** As WebAssembly stores them: 32 bits, little-endian. */
function encodeUint32s(...values: number[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(values.length * 4));
  for (const [at, value] of values.entries()) bytes.setUint32(at * 4, value, true);
  return new Uint8Array(bytes.buffer);
}

/** A fixed clock and fixed random bytes, so that equal input gives equal output. */
function createFixedClock(epoch: number, memory: () => WasmMemory) {
  return {
    clock_time_get(_clock: number, _precision: bigint, at: number): number {
      new DataView(memory().buffer).setBigUint64(at, BigInt(epoch) * 1_000_000_000n, true);
      return 0;
    },
    random_get(at: number, bytes: number): number {
      new Uint8Array(memory().buffer, at, bytes).fill(7);
      return 0;
    },
  };
}

/** Only what is used here: TypeScript has these types only for browsers. */
interface WebAssemblyApi {
  compile(bytes: Uint8Array): Promise<WasmModule>;
  instantiate(
    module: WasmModule,
    imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  ): Promise<WasmInstance>;
}

/** Compiled code, which can be sent to other threads. */
export interface WasmModule {
  readonly [Symbol.toStringTag]: 'WebAssembly.Module';
}

interface WasmInstance {
  readonly exports: object;
}

/** After it has grown, its buffer is a new one. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
}

export const { WebAssembly: webAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi };
