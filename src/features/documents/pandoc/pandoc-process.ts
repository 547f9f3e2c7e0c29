import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { answerCalls, getParentData, getParentLog } from '../../../platform/workers/inside.ts';
import { createThread, type Thread } from '../../../platform/workers/workers.ts';
import { webAssembly, type WasmModule } from './instance.ts';
import type { PandocWorkerMethods, PandocWorkerSettings } from './pandoc-worker.ts';
import { createPandocMethods, type PandocProcessSettings } from './wasm.ts';

const { wasm, ...rest } = (await getParentData()) as PandocProcessSettings;
const pandocWorkerFile = new URL(`./pandoc-worker${extname(import.meta.filename)}`, import.meta.url);
const compiledPandoc = compilePandoc(await readFile(wasm));

/** Frees the memory of the file at once: without pressure, the garbage collector would keep it for long. */
async function compilePandoc(bytes: Buffer<ArrayBuffer>): Promise<WasmModule> {
  const compiled = await webAssembly.compile(bytes);
  bytes.buffer.transfer(0);
  return compiled;
}

answerCalls(
  createPandocMethods(async (): Promise<Thread<PandocWorkerMethods>> => {
    const data: PandocWorkerSettings = { ...rest, module: await compiledPandoc };
    return createThread<PandocWorkerMethods>(pandocWorkerFile, data, getParentLog());
  }),
);
