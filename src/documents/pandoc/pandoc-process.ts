import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { answerCalls, outerData, outerLog } from '../../workers/inside.ts';
import { createThread, type Thread } from '../../workers/workers.ts';
import { webAssembly, type WasmModule } from './instance.ts';
import type { WorkerMethods, WorkerSettings } from './pandoc-worker.ts';
import { createConverting, type ProcessSettings } from './wasm.ts';

const { wasm, ...rest } = (await outerData()) as ProcessSettings;
const file = new URL(`./pandoc-worker${extname(import.meta.filename)}`, import.meta.url);
const module = compile(await readFile(wasm));

/** Gives the memory of the file back at once: nothing here would have it collected soon. */
async function compile(bytes: Buffer<ArrayBuffer>): Promise<WasmModule> {
  const compiled = await webAssembly.compile(bytes);
  bytes.buffer.transfer(0);
  return compiled;
}

answerCalls(
  createConverting(async (): Promise<Thread<WorkerMethods>> => {
    const data: WorkerSettings = { ...rest, module: await module };
    return createThread<WorkerMethods>(file, data, outerLog());
  }),
);
