import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkcrateError } from 'workcrate/toolkit';
import { article, articles, collection, key, keyOf, patient, serveZotero } from './zotero-server.testing.ts';
import { recordProof } from '../../test/requirements/requirements.testing.ts';

const all = { limit: 100, start: 0 };

test('a library is searched by words, tag, collection and type, with its key in a header alone', async () => {
  const thesis = [collection('COLLAAAA', 'Thesis'), collection('COLLBBBB', 'Methods', 'COLLAAAA')];
  const items = [
    article(1, { title: 'On crates', collections: ['COLLBBBB'] }),
    article(2, { itemType: 'book', extra: '', citationKey: 'book2' }),
    article(3, { itemType: 'note', title: 'A note' }),
    article(4, { parentItem: keyOf(1), itemType: 'attachment' }),
  ];
  await using it = await serveZotero({ items, collections: thesis });
  const found = await it.zotero.search(all, patient());
  assert.equal(found.total, 2);
  assert.deepEqual(found.items[0], {
    key: keyOf(1),
    citationKey: 'doe1',
    type: 'journalArticle',
    title: 'On crates',
    creators: 'Doe',
    year: 2020,
    doi: '10.1234/1',
    url: 'https://example.org/paper',
    tags: ['read'],
    collections: ['Thesis/Methods'],
  });
  const keysOf = async (query: object): Promise<string[]> =>
    (await it.zotero.search({ ...all, ...query }, patient())).items.map((item) => item.key);
  assert.deepEqual(await keysOf({ text: 'crates' }), [keyOf(1)]);
  assert.deepEqual(await keysOf({ itemType: 'book' }), [keyOf(2)]);
  assert.deepEqual(await keysOf({ tag: 'unread' }), []);
  for (const name of ['COLLBBBB', 'Thesis/Methods', 'Methods', 'methods'])
    assert.deepEqual(await keysOf({ collection: name }), [keyOf(1)]);
  assert.ok(it.asked.every(({ headers }) => headers['zotero-api-key'] === key));
  assert.ok(it.asked.every(({ url }) => !url.href.includes(key)));
  assert.ok(!it.logged.join('').includes(key));
  recordProof('C13:zotero-web-api');
});

test('references come by key of the item and by citation key, under what is cited, in that order', async () => {
  const items = [...articles(4), article(4, { itemType: 'note' }), article(5, { itemType: 'attachment' })];
  await using it = await serveZotero({ items });
  const wanted = ['doe2', keyOf(1), 'nobody', 'doe1', 'GONE0000', keyOf(4), keyOf(5), 'doe4'];
  const { references, missing, notes } = await it.zotero.references(wanted, patient());
  assert.deepEqual(
    references.map(({ id, title }) => [id, title]),
    [
      ['doe2', 'Article 2'],
      [keyOf(1), 'Article 1'],
      ['doe1', 'Article 1'],
    ],
  );
  assert.deepEqual([missing, notes], [['nobody', 'GONE0000', keyOf(4), keyOf(5), 'doe4'], []]);
  assert.deepEqual(references[0]!['issued'], { 'date-parts': [['2020', 5]] });
  assert.equal('note' in references[0]!, false);
});

test('a collection gives its references without notes; equal citation keys are told apart', async () => {
  const here = { collections: ['COLLAAAA'] };
  const items = [
    article(1, here),
    article(2, { ...here, extra: 'citation key: doe1' }),
    article(3),
    article(4, { ...here, itemType: 'note' }),
  ];
  await using it = await serveZotero({ items, collections: [collection('COLLAAAA', 'Papers')] });
  const { references } = await it.zotero.references({ collection: 'Papers' }, patient());
  assert.deepEqual(
    references.map(({ id }) => id),
    ['doe1', keyOf(2)],
  );
  const bibtex = await it.zotero.bibtex({ collection: 'COLLAAAA' }, patient());
  assert.match(bibtex.references[0]!.text, /^@article\{doe1,\n\ttitle = \{Article 1\}/);
});

test('many keys are asked for in groups of 50', async () => {
  await using it = await serveZotero({ items: articles(120) });
  const { references } = await it.zotero.references(
    articles(120).map((item) => item.key),
    patient(),
  );
  assert.equal(references.length, 120);
  const groups = it.asked.map(({ url }) => url.searchParams.get('itemKey')!.split(',').length);
  assert.deepEqual(groups, [50, 50, 20]);
});

test('what has not changed is not sent again, and what has is seen at once', async () => {
  await using it = await serveZotero({ items: articles(3), collections: [collection('COLLAAAA', 'Papers')] });
  const ask = async () => [
    await it.zotero.search(all, patient()),
    await it.zotero.references(['doe1'], patient()),
  ];
  const before = await ask();
  const requests = it.asked.length;
  assert.deepEqual(await ask(), before);
  assert.ok(it.asked.slice(requests).every(({ status }) => status === 304));
  it.state.version = 11;
  it.state.items[1] = { ...article(1, { title: 'Renamed', extra: 'Citation Key: other' }), version: 11 };
  it.state.items[2] = { ...article(2, { extra: '' }), version: 11 };
  const again = await it.zotero.references(['doe1', 'other', 'doe2', 'doe0'], patient());
  assert.deepEqual(
    [again.references.map(({ id }) => id), again.missing],
    [
      ['other', 'doe0'],
      ['doe1', 'doe2'],
    ],
  );
  const sinces = it.asked.map(({ url }) => url.searchParams.get('since'));
  assert.deepEqual(
    sinces.filter((since) => since !== null),
    ['10', '10'],
  );
});

test('a deleted item does not hide the one that took over its citation key', async () => {
  await using it = await serveZotero({ items: articles(2) });
  await it.zotero.references(['doe0'], patient());
  it.state.version = 12;
  it.state.items = [{ ...article(7, { extra: 'Citation Key: doe0' }), version: 12 }];
  const { references } = await it.zotero.references(['doe0', 'doe1'], patient());
  assert.deepEqual(
    references.map(({ id, title }) => [id, title]),
    [['doe0', 'Article 7']],
  );
});

test('a long list is read page by page, all of one version', async () => {
  const items = articles(250, { collections: ['COLLAAAA'] });
  await using it = await serveZotero({ items, collections: [collection('COLLAAAA', 'Papers')] });
  let isChanged = false;
  it.state.trouble = ({ url }) => {
    if (url.searchParams.get('start') === '100' && !isChanged) {
      isChanged = true;
      it.state.version++;
      it.state.items = [...it.state.items.slice(1), article(900, { collections: ['COLLAAAA'] })];
    }
    return false;
  };
  const { references } = await it.zotero.references({ collection: 'Papers' }, patient());
  const ids = references.map(({ id }) => id);
  assert.equal(new Set(ids).size, 250);
  assert.ok(ids.includes('doe900') && !ids.includes('doe0'));
});

test('a library that keeps changing while it is read is given up', async () => {
  const items = articles(250, { collections: ['COLLAAAA'] });
  await using it = await serveZotero({ items, collections: [collection('COLLAAAA', 'Papers')] });
  it.state.trouble = ({ url }) => {
    if (url.pathname.endsWith('/top')) it.state.version++;
    return false;
  };
  const asked = it.zotero.references({ collection: 'Papers' }, patient());
  await assert.rejects(asked, { code: 'library_unreachable', message: /keeps changing/ });
});

test('a Zotero on this machine is asked without key and never for what has changed since', async () => {
  const items = [...articles(2, { collections: ['COLLAAAA'] }), article(8, { itemType: 'note' })];
  await using it = await serveZotero({
    isLocal: true,
    items,
    collections: [collection('COLLAAAA', 'Papers')],
  });
  assert.equal((await it.zotero.search(all, patient())).total, 2);
  const { references } = await it.zotero.references(['doe1', keyOf(0)], patient());
  assert.deepEqual(
    references.map(({ id, title }) => [id, title]),
    [
      ['doe1', 'Article 1'],
      [keyOf(0), 'Article 0'],
    ],
  );
  // Its version is that of the last synchronisation.
  it.state.items.push(article(5, { collections: ['COLLAAAA'] }));
  assert.equal((await it.zotero.references({ collection: 'Papers' }, patient())).references.length, 3);
  assert.equal((await it.zotero.references(['doe5'], patient())).references.length, 1);
  assert.ok(it.asked.every(({ headers }) => headers['zotero-api-key'] === undefined));
  assert.ok(it.asked.every(({ headers }) => headers['if-modified-since-version'] === undefined));
  recordProof('C13:zotero-on-this-machine');
});

test('collections that share a name, stand in a circle or are not there are told', async () => {
  const collections = [
    collection('COLLAAAA', 'Same', 'COLLBBBB'),
    collection('COLLBBBB', 'Upper', 'COLLAAAA'),
    collection('COLLCCCC', 'Same', 'COLLDDDD'),
    collection('COLLDDDD', 'Other'),
  ];
  await using it = await serveZotero({ collections });
  const told = await it.zotero.collections(patient());
  assert.deepEqual(
    told.map(({ path }) => path),
    ['Other', 'Other/Same', 'Same/Upper', 'Upper/Same'],
  );
  const find = (name: string) => it.zotero.search({ ...all, collection: name }, patient());
  await assert.rejects(find('nowhere'), { code: 'not_found', message: /COLLCCCC/ });
  await assert.rejects(find('SAME'), {
    code: 'invalid_input',
    message: /COLLCCCC "Other\/Same", COLLAAAA "Upper\/Same"/,
  });
});

test('four requests go out at once, and no more', async () => {
  const items = articles(300, { collections: ['COLLAAAA'] });
  await using it = await serveZotero({ items, collections: [collection('COLLAAAA', 'Papers')] });
  const held: (() => void)[] = [];
  it.state.trouble = (asked, response, count) => {
    held.push(() => it.answer(asked, response));
    // A fifth would come meanwhile.
    if (count >= 4) setTimeout(() => held.splice(0).forEach((answer) => answer()), count === 4 ? 100 : 0);
    return true;
  };
  const wanted = Array.from({ length: 6 }, () => it.zotero.references({ collection: 'Papers' }, patient()));
  const found = await Promise.all(wanted);
  assert.ok(found.every(({ references }) => references.length === 300));
  assert.equal(it.state.mostAtOnce, 4);
});

test('who cancels is told so, at once and with the reason', async () => {
  await using it = await serveZotero({ trouble: () => true, timeoutMs: 60_000 });
  const stop = new AbortController();
  const reason = new WorkcrateError('document_timeout', 'Too long.');
  const asked = it.zotero.search(all, stop.signal);
  setTimeout(() => stop.abort(reason), 20);
  await assert.rejects(asked, reason);
  await assert.rejects(it.zotero.collections(stop.signal), reason);
});
