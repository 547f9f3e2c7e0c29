/**
 * The port for conversions by Pandoc, and the list of its backends. It does not sanitize, and it does not know what a
 * document is: whoever calls it chooses the options and must never take them from a user.
 */
import { openSystemPandoc } from './system.ts';
import { openWasmPandoc, type WasmPandocOptions } from './wasm.ts';

/**
 * One conversion. `options` are those of a defaults file of Pandoc: `from`, `to`, `standalone` and so on, but not where
 * it reads and writes: that is up to the backend. They are never anybody's but ours: a filter would be run.
 */
export interface PandocJob {
  readonly options: Readonly<Record<string, unknown>>;
  readonly input: string | Uint8Array;
  /** All that it can read, by plain names: letters, digits, `.`, `-` and `_`, the first a letter or digit. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
}

export interface PandocResult {
  readonly output: Uint8Array;
  readonly warnings: readonly PandocWarning[];
}

/** What Pandoc says of what it could not do: `type` is its own name for it, such as `CiteprocWarning`. */
export interface PandocWarning {
  readonly type: string;
  readonly message: string;
}

/**
 * The port for conversions. A conversion reads nothing but what it is given, opens no connection, and is ended at once
 * when the signal fires, whose reason it then fails with. What Pandoc refuses fails with `document_invalid`, and the
 * line where that is known; running out of memory and anything else with `document_failed`.
 */
export interface Pandoc extends AsyncDisposable {
  readonly kind: 'wasm' | 'system';
  convert(job: PandocJob, signal: AbortSignal): Promise<PandocResult>;
  /** Such as `3.10`. */
  version(signal: AbortSignal): Promise<string>;
}

export interface PandocOptions extends WasmPandocOptions {
  /** A Pandoc of the machine, by its name on PATH or its path; null: the packaged one. */
  readonly command: string | null;
}

/** The list of all backends. Nothing is started before the first conversion. */
export const openPandoc = ({ command, ...options }: PandocOptions): Pandoc =>
  command === null ? openWasmPandoc(options) : openSystemPandoc({ ...options, command });
