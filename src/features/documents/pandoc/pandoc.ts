/**
 * The port for conversions by Pandoc, and the list of its backends. It does not sanitize, and it does not know what a
 * document is: whoever calls it chooses the options and must never take them from a user.
 */
import { openSystemPandoc } from './system.ts';
import { openWasmPandoc, type WasmPandocOptions } from './wasm.ts';

/**
 * One conversion. `options` are those of a defaults file of Pandoc: `from`, `to`, `standalone` and so on, but not its
 * input and output, which the backend chooses. They must never come from a user: a filter would be run.
 */
export interface PandocJob {
  readonly options: Readonly<Record<string, unknown>>;
  readonly input: string | Uint8Array;
  /** All files that it can read. Names are letters, digits, `.`, `-` and `_`, and begin with a letter or digit. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
}

export interface PandocResult {
  readonly output: Uint8Array;
  readonly warnings: readonly PandocWarning[];
}

/** A warning of Pandoc; `type` is Pandoc's own name for it, such as `CiteprocWarning`. */
export interface PandocWarning {
  readonly type: string;
  readonly message: string;
}

/**
 * The port for conversions. A conversion reads only what is in its job, opens no connection, and stops at once when the
 * signal fires; it then fails with the reason of the signal. Input that Pandoc refuses fails with `document_invalid`,
 * with the line if it is known; running out of memory and anything else fails with `document_failed`.
 */
export interface Pandoc extends AsyncDisposable {
  readonly kind: 'wasm' | 'system';
  convert(job: PandocJob, signal: AbortSignal): Promise<PandocResult>;
  /** Such as `3.10`. */
  version(signal: AbortSignal): Promise<string>;
}

export interface PandocOptions extends WasmPandocOptions {
  /** An installed Pandoc, by its name on PATH or its path; null: the packaged one. */
  readonly command: string | null;
}

/** Nothing is started before the first conversion. */
export const openPandoc = ({ command, ...options }: PandocOptions): Pandoc =>
  command === null ? openWasmPandoc(options) : openSystemPandoc({ ...options, command });
