import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, it } from 'node:test';
import { createLog } from '../../../platform/observability/log.ts';
import { createThread } from '../../../platform/workers/workers.ts';
import { webAssembly } from './instance.ts';
import type { PandocWorkerMethods, PandocWorkerSettings } from './pandoc-worker.ts';
import { createPandocMethods, findPandocPackage } from './wasm.ts';

const megabyte = 1024 ** 2;
const { wasm, shim } = findPandocPackage();
const module = webAssembly.compile(await readFile(wasm));
const threads = new AsyncDisposableStack();
after(() => threads.disposeAsync());

/** `threads` counts how many were opened. */
function newConverting(options: { memoryBytes: number; epoch: number | null }) {
  const opened = { threads: 0 };
  const file = new URL('./pandoc-worker.ts', import.meta.url);
  const converting = createPandocMethods(async () => {
    opened.threads++;
    const data: PandocWorkerSettings = { module: await module, shim, ...options };
    return threads.use(createThread<PandocWorkerMethods>(file, data, createLog('off')));
  });
  const convert = (to: string, input: string) =>
    converting.convert({ options: { from: 'markdown', to, metadata: { identifier: 'a' } }, input });
  return { convert, opened };
}

it('a heap that is full is told, and another thread takes over; what is refused leaves it alone', async () => {
  const { convert, opened } = newConverting({ memoryBytes: 500 * megabyte, epoch: null });
  await assert.rejects(convert('html', '---\na: [\n---\n'), { code: 'document_invalid' });
  await convert('html', 'a');
  assert.equal(opened.threads, 1);
  await assert.rejects(convert('html', 'a'.repeat(10_000_000)), {
    code: 'document_failed',
    message: /524 MB/,
  });
  await convert('html', 'a');
  assert.equal(opened.threads, 2);
});

it('with a fixed moment equal input gives equal bytes, in a new thread and in an old one', async () => {
  const [one, other] = [1, 2].map(() =>
    newConverting({ memoryBytes: 1024 * megabyte, epoch: 1_000_000_000 }),
  );
  for (const to of ['docx', 'epub']) {
    const first = await one!.convert(to, '# a');
    assert.deepEqual((await one!.convert(to, '# a')).output, first.output, to);
    assert.deepEqual((await other!.convert(to, '# a')).output, first.output, to);
  }
});
