import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { documentsOf, reading, madeUpTexts } from './corpus.testing.ts';
import type { SemanticDocument } from './document.ts';
import { isZero, product } from './embedder.ts';
import { fitLsa } from './lsa-fit.ts';
import { lsaFromBytes, lsaToBytes } from './lsa-bytes.ts';
import { lsaEmbedder, type LsaModel } from './lsa.ts';
import { sampleOf } from './sample.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

const plenty = { documents: 20_000, words: 4_000_000 };
const goOn = async (): Promise<void> => {};

async function fit(documents: readonly SemanticDocument[], limits = plenty): Promise<LsaModel> {
  const sample = await sampleOf(reading(documents)(), limits, goOn);
  return fitLsa(sample.documents, goOn);
}

test('the order in which documents come changes no bit of the model, nor of any vector', async () => {
  const documents = documentsOf(madeUpTexts(60));
  const one = await fit(documents);
  const other = await fit(documents.toReversed());
  assert.deepEqual(lsaToBytes(one), lsaToBytes(other));
  const texts = documents.map(({ text }) => text);
  assert.deepEqual(await lsaEmbedder(one).documents(texts), await lsaEmbedder(other).documents(texts));
  recordProof('B4:lsa-same-on-every-machine');
});

test('where not all documents have room, the same ones are taken in any order, by documents and by words', async () => {
  const documents = documentsOf(madeUpTexts(60));
  const shuffled = documents.toSorted((a, b) => (a.text < b.text ? -1 : 1));
  for (const limits of [
    { documents: 10, words: 1e6 },
    { documents: 1000, words: 150 },
    { documents: 1, words: 1e6 },
  ]) {
    const one = await sampleOf(reading(documents)(), limits, goOn);
    assert.deepEqual(one, await sampleOf(reading(shuffled)(), limits, goOn));
    assert.ok(one.documents.length > 0 && one.documents.length <= limits.documents);
    assert.ok(one.documents.every(({ key }) => key < one.next!));
  }
});

test('a model that was stored and read back gives the same vectors', async () => {
  const documents = documentsOf(madeUpTexts(40));
  const model = await fit(documents);
  const back = lsaFromBytes(Buffer.from(lsaToBytes(model)));
  assert.deepEqual(
    await lsaEmbedder(back).query('granite basalt'),
    await lsaEmbedder(model).query('granite basalt'),
  );
  assert.throws(() => lsaFromBytes(lsaToBytes(model).subarray(0, -1)), { code: 'database_failed' });
  assert.throws(() => lsaFromBytes(Buffer.alloc(3)), { code: 'database_failed' });
});

test('a model of a known corpus has the values that it always had', async () => {
  const model = await fit(documentsOf(madeUpTexts(30)));
  assert.equal(createHash('sha256').update(lsaToBytes(model)).digest('hex').slice(0, 16), 'baa2c75ee135e64b');
  recordProof('B4:lsa-same-on-every-machine');
});

test('a document that came later is placed near to those that it is like', async () => {
  const embedder = lsaEmbedder(await fit(documentsOf(madeUpTexts(60))));
  const [late] = await embedder.documents(['granite and basalt, with some zyzzyva']);
  const rocks = await embedder.query('granite');
  const birds = await embedder.query('heron');
  assert.ok(product(late!, 0, rocks) > 0.5);
  assert.ok(product(late!, 0, birds) < 0.3);
});

test('corpora of any size have a model: none, one, two, ten, empty texts, all the same', async () => {
  const cases = [
    [],
    ['one lonely text'],
    ['a b', 'c d'],
    madeUpTexts(10),
    ['', ''],
    Array(12).fill('same words'),
  ];
  for (const texts of cases) {
    const model = await fit(documentsOf(texts));
    const embedder = lsaEmbedder(model);
    for (const [at, vector] of (await embedder.documents(texts)).entries()) {
      assert.equal(vector.length, model.dimensions);
      assert.ok(vector.every(Number.isFinite));
      if (texts[at] !== '') assert.ok(Math.abs(product(vector, 0, vector) - 1) < 1e-5, texts[at]);
    }
    assert.ok(isZero(await embedder.query('nobody wrote this')));
  }
});
