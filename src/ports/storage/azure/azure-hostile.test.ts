import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { chunksOf } from '../bytes.testing.ts';
import { always, startHostileStore } from '../remote/hostile-store.testing.ts';
import { impatient, partBytes } from './azure.testing.ts';
import { azureStorage } from './azure.ts';

async function facing(t: TestContext) {
  const store = await startHostileStore(t);
  const credential = { key: 'a2V5' };
  const storage = await azureStorage(
    { endpoint: store.endpoint, account: 'acc', container: 'c', prefix: 'p/', credential, partBytes },
    impatient,
  );
  t.after(() => storage.close());
  return { store, storage };
}

const listing = (names: readonly string[], marker: string): string =>
  `\uFEFF<?xml version="1.0"?><EnumerationResults><Blobs>${names
    .map((name) => `<Blob><Name>${name}</Name></Blob>`)
    .join('')}</Blobs><NextMarker>${marker}</NextMarker></EnumerationResults>`;

const maintenance = '<html>maintenance</html>';
const attempt = '0123456789abcdef';
const noted = (facts: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(facts).map(([name, value]) => [`x-ms-meta-${name}`, value]));

it('a page that is no listing is not taken for an empty one', async (t) => {
  const { store, storage } = await facing(t);
  for (const text of [maintenance, '', '<EnumerationResults><Blobs>']) {
    store.answer = always(200, text);
    await assert.rejects(storage.list(), { code: 'storage_failed', message: /any proxy in between/ });
    await assert.rejects(storage.staging.list(), { code: 'storage_failed' });
  }
  store.answer = always(200, listing([], ''));
  assert.deepEqual(await storage.list(), { objects: [], next: null });
});

it('a page that is no block list is not taken for one without blocks', async (t) => {
  const { store, storage } = await facing(t);
  store.answer = always(200, maintenance, noted({ attempt, run: '1', size: '9' }));
  await assert.rejects(storage.staging.size('x'), {
    code: 'storage_failed',
    message: /any proxy in between/,
  });
});

it('a listing that does not go on is given up, and not read for ever', { timeout: 60_000 }, async (t) => {
  const { store, storage } = await facing(t);
  let count = 0;
  const stuck: [marker: () => string, names: string[], requests: number][] = [
    [() => 'same', ['p/staging/a'], 2],
    [() => `m${count++}`, ['p/staging/a'], 2],
    [() => 'same', [], 2],
    [() => `m${count++}`, [], 1001],
  ];
  for (const [marker, names, requests] of stuck) {
    store.seen.length = 0;
    store.answer = (_, response) => void response.end(listing(names, marker()));
    await assert.rejects(storage.staging.list(), { code: 'storage_failed', message: /lists/ });
    assert.equal(store.seen.length, requests);
    await assert.rejects(storage.list({ after: 'a m' }), { code: 'storage_failed' });
  }
});

it('a page of objects that comes again is refused', async (t) => {
  const { store, storage } = await facing(t);
  store.answer = always(200, listing(['p/objects/a', 'p/objects/b'], 'm'));
  const { objects, next } = await storage.list();
  assert.deepEqual([objects.length, next], [2, 'b m']);
  await assert.rejects(storage.list({ after: next! }), { code: 'storage_failed' });
});

it('no more than 100,000 uploads are gathered', { timeout: 60_000 }, async (t) => {
  const { store, storage } = await facing(t);
  let page = 100;
  store.answer = (_, response) => {
    const names = Array.from({ length: 1000 }, (_, at) => `p/staging/u${page}-${1000 + at}`);
    response.end(listing(names, page++ < 5000 ? `m${page}` : ''));
  };
  await assert.rejects(storage.staging.list(), { code: 'storage_failed', message: /more than 100000/ });
  assert.equal(store.seen.length, 101);
});

const sane = { attempt, run: '0', size: '0' };
const broken: Record<string, Record<string, string>> = {
  'of somebody else': {},
  'without an attempt': { run: '0', size: '0' },
  'of an attempt that is none': { ...sane, attempt: 'xyz' },
  'of a run that is no number': { ...sane, run: 'many' },
  'of more runs than there can be': { ...sane, run: '16777216' },
  'of less than no bytes': { ...sane, size: '-1' },
  'of more bytes than can be counted': { ...sane, size: '9999999999999999' },
  'of a key that leads out': { ...sane, key: '../../other' },
};

for (const [name, facts] of Object.entries(broken))
  it(`a state ${name} is refused, touches nothing else, and can be discarded`, async (t) => {
    const { store, storage } = await facing(t);
    store.answer = always(200, '', noted(facts));
    const works = [
      () => storage.staging.size('x'),
      () => storage.staging.append('x', 1, chunksOf(Buffer.from('x')), { key: 'a' }),
      () => storage.staging.commit('x', 'a'),
    ];
    for (const work of works)
      await assert.rejects(work(), { code: 'storage_failed', message: /Discard the upload/ }, String(work));
    assert.ok(!store.seen.some((line) => /^(?:PUT|DELETE)/.test(line)));
    await storage.staging.discard('x');
    assert.ok(store.seen.includes('DELETE /c/p/staging/x'));
    assert.ok(store.seen.every((line) => line.includes(' /c/p/staging/x')));
  });
