/** As much of it as is used here: TypeScript knows it in browsers alone. */
interface WebAssemblyApi {
  compile(bytes: Uint8Array): Promise<WasmModule>;
  instantiate(
    module: WasmModule,
    imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  ): Promise<WasmInstance>;
}

/** Code that is compiled, and can be given to other threads. */
export interface WasmModule {
  readonly [Symbol.toStringTag]: 'WebAssembly.Module';
}

interface WasmInstance {
  readonly exports: object;
}

/** Its buffer is another one after it has grown. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
}

export const { WebAssembly: webAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi };
