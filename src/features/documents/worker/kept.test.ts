import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from '../../../platform/observability/log.ts';
import { createDocumentWorkerMethods, type KeptDocument } from './worker.ts';

const worker = createDocumentWorkerMethods(
  { pandoc: null, fontFolders: [], memoryBytes: 1_000_000_000, epoch: null },
  createLog('off'),
);
const context = { signal: new AbortController().signal, report() {} };

const read = (text: string): Promise<KeptDocument> =>
  worker.read({ text, mostBytes: 1_000_000, bibliography: null, layout: {} }, context);

async function write(document: KeptDocument): Promise<string> {
  const request = { read: document, found: new Map(), references: null, style: null, referenceDoc: null };
  const { built } = await worker.write({ ...request, formats: ['plain'] }, context);
  return Buffer.from(built[0]!.written.bytes).toString();
}

const lost = { code: 'document_failed', message: /Build it again/ };

test('a kept worker has one tree, gives it to whoever read it, once, and never to another document', async () => {
  const first = await read('The first secret.');
  const second = await read('The second secret.');
  assert.ok(!JSON.stringify(first).includes('first secret'));
  assert.equal(await write(second), 'The second secret.\n');
  await assert.rejects(write(second), lost);
  // Its tree was replaced, and asking for it has no other.
  await assert.rejects(write(first), lost);
  const third = await read('The third secret.');
  await assert.rejects(write(first), lost);
  await assert.rejects(write(third), lost);
});

test('what one document cites and says is not in the next', async () => {
  const words = 'the confidential figures of the whole department for the last year';
  await write(await read(`The ${words} [@secret2020] and $\\alpha$.`));
  const text = await write(await read('Something else entirely [@other].'));
  assert.equal(text, 'Something else entirely [@other].\n');
});
