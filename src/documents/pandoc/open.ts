import type { Pandoc } from './pandoc.ts';
import { systemPandoc } from './system.ts';
import { wasmPandoc, type WasmOptions } from './wasm.ts';

export interface PandocOptions extends WasmOptions {
  /** A Pandoc of the machine, by its name on PATH or its path; null: the packaged one. */
  readonly command: string | null;
}

/** The list of all backends. Nothing is started before the first conversion. */
export const openPandoc = ({ command, ...options }: PandocOptions): Pandoc =>
  command === null ? wasmPandoc(options) : systemPandoc({ ...options, command });
