import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { eventually } from '../../src/platform/eventually.testing.ts';
import { article, articles, collection, key, keyOf, patient, serveZotero } from './zotero-server.testing.ts';

const all = { limit: 100, start: 0 };
const json = (response: ServerResponse, body: string, headers: Record<string, string> = {}): true => {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Total-Results': '1', ...headers }).end(body);
  return true;
};
const status = (response: ServerResponse, code: number, headers: Record<string, string> = {}): true => {
  response.writeHead(code, headers).end(`Key ${key} and more`);
  return true;
};

test('Backoff in any answer keeps all later requests back, until its time is over', async () => {
  let now = 1_000_000;
  await using it = await serveZotero({ items: articles(1), clock: () => now });
  it.state.trouble = (_asked, response, count) => {
    if (count === 2) response.setHeader('Backoff', '30');
    return false;
  };
  assert.equal((await it.zotero.search(all, patient())).total, 1);
  const early = it.zotero.search(all, patient());
  await assert.rejects(early, { code: 'library_unreachable', details: { retryAfter: 30 } });
  assert.equal(it.asked.length, 2);
  now += 30_000;
  assert.equal((await it.zotero.search(all, patient())).total, 1);
});

test('after 429 nothing is asked until its time is over, and then again', async () => {
  let now = 1_000_000;
  await using it = await serveZotero({ items: articles(1), clock: () => now });
  it.state.trouble = (_asked, response, count) =>
    count === 1 && status(response, 429, { 'Retry-After': '1' });
  const searched = it.zotero.search(all, patient());
  await eventually(() => it.asked.length > 0);
  await setTimeout(200);
  assert.equal(it.asked.length, 1);
  // More than once: what is to wait may have been told so only now.
  const clock = setInterval(() => void (now += 1000), 20);
  try {
    assert.equal((await searched).total, 1);
  } finally {
    clearInterval(clock);
  }
});

test('what says to come back later than we can wait is told with when', async () => {
  for (const code of [429, 503]) {
    await using it = await serveZotero({
      trouble: (_, response) => status(response, code, { 'Retry-After': '900' }),
    });
    const asked = it.zotero.collections(patient());
    await assert.rejects(
      asked,
      (error: { code: string; details: { retryAfter: number }; message: string }) => {
        assert.equal(error.code, 'library_unreachable');
        assert.ok(error.details.retryAfter > 890 && error.details.retryAfter <= 900);
        return /Try again in \d+ seconds/.test(error.message);
      },
    );
    assert.equal(it.asked.length, 1);
  }
});

test('what fails for a moment is tried again, a few times', async () => {
  await using it = await serveZotero({ items: articles(1) });
  it.state.trouble = (_asked, response, count) => {
    if (count === 1) return status(response, 502, { 'Retry-After': '0' });
    if (count !== 2) return false;
    // Half a body.
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '1000' });
    response.write('[{"key": "ITEM0000"', () => response.destroy());
    return true;
  };
  assert.equal((await it.zotero.search(all, patient())).total, 1);
  const count = it.asked.length;
  it.state.trouble = (_asked, response) => status(response, 500, { 'Retry-After': '0' });
  await assert.rejects(it.zotero.search(all, patient()), {
    code: 'library_unreachable',
    message: /answered 500/,
  });
  assert.equal(it.asked.length - count, 4);
});

test('403, 404 and 400 say what to do, and not what the key is', async () => {
  const cases = [
    [401, false, 'library_refused', /--zotero-key/],
    [403, false, 'library_refused', /--zotero-key/],
    [403, true, 'library_refused', /allow other applications/],
    [404, false, 'not_found', /--zotero-library/],
    [400, false, 'invalid_input', /journalArticle/],
    [400, true, 'invalid_input', /users\/0/],
    [418, false, 'library_unreachable', /answered 418/],
  ] as const;
  for (const [code, isLocal, expected, message] of cases) {
    await using it = await serveZotero({ isLocal, trouble: (_asked, response) => status(response, code) });
    await assert.rejects(it.zotero.search(all, patient()), (error: { code: string; message: string }) => {
      assert.deepEqual([error.code, message.test(error.message)], [expected, true], error.message);
      return !error.message.includes(key);
    });
    assert.ok(!it.logged.join('').includes(key));
    assert.equal(it.asked.length, 1);
  }
});

test('a redirect is not followed, so that the key goes nowhere else', async () => {
  await using elsewhere = await serveZotero();
  const there = new URL('http://127.0.0.1/');
  await assert.rejects(elsewhere.zotero.search({ ...all, collection: 'x' }, patient()), {
    code: 'not_found',
  });
  there.port = elsewhere.asked[0]!.url.port;
  const before = elsewhere.asked.length;
  for (const code of [301, 302, 307, 308]) {
    await using it = await serveZotero({
      trouble: (_asked, response) => status(response, code, { Location: there.href }),
    });
    const asked = it.zotero.collections(patient());
    await assert.rejects(asked, { code: 'library_unreachable', message: /a redirect/ });
  }
  assert.equal(elsewhere.asked.length, before);
});

test('an answer that is not of the API is refused', async () => {
  const named = '{"key": "../../etc", "data": {"itemType": "book", "name": "x"}}';
  const bad: (readonly [RegExp, (response: ServerResponse) => boolean])[] = [
    [/JSON/, (response) => json(response, '<html>', { 'Content-Type': 'text/html' })],
    [/not one of the Zotero API/, (response) => json(response, '{"not": "a list"}')],
    [/not one of the Zotero API/, (response) => json(response, '[{"key":')],
    [/not one of the Zotero API/, (response) => json(response, '['.repeat(100_000))],
    [/collections do not have the form/, (response) => json(response, '[1, null]')],
    [/collections do not have the form/, (response) => json(response, `[${named}]`)],
    [/not changed/, (response) => status(response, 304)],
    [/longer than/, (response) => json(response, `["${'x'.repeat(9 * 1024 ** 2)}"]`)],
  ];
  for (const [message, answer] of bad) {
    await using it = await serveZotero({ trouble: (_asked, response) => answer(response) });
    await assert.rejects(it.zotero.collections(patient()), { code: 'library_unreachable', message });
  }
});

test('who does not answer is given up after a while', async () => {
  await using it = await serveZotero({ timeoutMs: 100, trouble: () => true });
  await assert.rejects(it.zotero.search(all, patient()), { code: 'library_unreachable' });
  await using slow = await serveZotero({
    timeoutMs: 100,
    trouble(_asked, response) {
      // Bytes that never end, though they come all the time.
      response.writeHead(200, { 'Content-Type': 'application/json' });
      const timer = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(timer));
      return true;
    },
  });
  await assert.rejects(slow.zotero.search(all, patient()), { code: 'library_unreachable' });
});

test('a Zotero that does not run on this machine is told at once', async () => {
  const it = await serveZotero({ isLocal: true });
  await it[Symbol.asyncDispose]();
  const asked = it.zotero.search(all, patient());
  await assert.rejects(asked, {
    code: 'library_unreachable',
    message: /ECONNREFUSED.*check that Zotero is running/,
  });
});

test('a list without end is not read to its end', async () => {
  await using it = await serveZotero({ collections: [collection('COLLAAAA', 'Papers')] });
  const page = JSON.stringify([{ key: keyOf(1), data: article(1).data }]);
  it.state.trouble = ({ url }, response) =>
    url.pathname.endsWith('/top') && json(response, page, { 'Total-Results': '999999999999' });
  const found = await it.zotero.references(['nobody'], patient());
  assert.deepEqual(found.missing, ['nobody']);
  assert.match(found.notes.join(), /too large/);
  assert.equal(it.asked.length, 100);
  await assert.rejects(it.zotero.references({ collection: 'Papers' }, patient()), { code: 'too_large' });
  const many = Array.from({ length: 1001 }, (_, at) => `key${at}`);
  await assert.rejects(it.zotero.references(many, patient()), { code: 'too_large' });
});

test('what an item holds can do no harm', async () => {
  const hostile = article(1, {
    title: 'One\u001b[31m\u0000 line\n\u202eand another\ud800',
    url: 'javascript:alert(1)',
    creators: 'nobody',
    tags: [null, { tag: 7 }, { tag: 'a\nb' }],
    collections: ['__proto__', 3],
    extra: `${'\n'.repeat(50_000)}Citation Key: late`,
    citationKey: 'with space',
  });
  hostile.csljson = JSON.parse(
    `{"type": "book", "id": "other", "__proto__": {"polluted": 1}, "title": "a\\u0000b", "_x": 1, "abstract": "${'x'.repeat(50_000)}",
      "custom": ${'{"a":'.repeat(50)}1${'}'.repeat(50)}, "issued": {"date-parts": [[2020]], "__proto__": []}}`,
  );
  await using it = await serveZotero({ items: [hostile] });
  const [found] = (await it.zotero.search(all, patient())).items;
  assert.deepEqual(
    [found!.title, found!.url, found!.tags, found!.collections, found!.citationKey],
    ['One [31m line and another\ufffd', null, ['a b'], [], null],
  );
  const [reference] = (await it.zotero.references([keyOf(1)], patient())).references;
  assert.deepEqual(Object.keys(reference!).sort(), ['abstract', 'custom', 'id', 'issued', 'title', 'type']);
  assert.deepEqual([reference!.id, reference!['title']], [keyOf(1), 'a b']);
  assert.equal(JSON.stringify(reference!['abstract']).length, 20_002);
  assert.equal(JSON.stringify(reference!['issued']), '{"date-parts":[[2020]]}');
  assert.equal(({} as { polluted?: number }).polluted, undefined);
  hostile.csljson = { type: '@#!' };
  it.state.version++;
  const again = await it.zotero.references([keyOf(1)], patient());
  assert.deepEqual([again.references, again.missing], [[], [keyOf(1)]]);
});
