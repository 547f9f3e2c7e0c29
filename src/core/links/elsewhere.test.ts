import assert from 'node:assert/strict';
import { it } from 'node:test';
import { crc32 } from 'node:zlib';
import { eventually } from '../../platform/eventually.testing.ts';
import type { ToolAnswer, ToolContext } from '../offer/tool.ts';
import { openElsewhere, thing, type Thing } from './elsewhere.testing.ts';
import { externalLinkShape, toLinkAnswer } from './link-result.ts';

const text = Array.from({ length: 20_000 }, (_, at) => `line ${at}\n`).join('');
const ada = { caller: { user: 'ada' } } as ToolContext;

async function open(one: Partial<Thing> = {}) {
  const it = thing(text, one);
  const things = new Map([['a thing', it]]);
  return Object.assign(await openElsewhere(things), { it, things });
}

type Room = Awaited<ReturnType<typeof open>>;

const status = async ({ tools }: Room, token: string) => {
  const tool = tools.find(({ name }) => name === 'link_status')!;
  const answer = (await tool.handle({ token }, ada)) as ToolAnswer<Record<string, unknown>>;
  return answer.structured;
};

const codeOf = async (answer: Response): Promise<[number, string]> => [
  answer.status,
  ((await answer.json()) as { code: string }).code,
];

it('a link to what stands elsewhere gives its bytes, and says what it is without a sha256', async () => {
  await using room = await open();
  const shared = await room.share('a thing');
  const { structured } = toLinkAnswer(shared, room.url);
  assert.deepEqual(externalLinkShape.parse(structured), structured);
  assert.deepEqual(
    [structured.filename, structured.size, structured.sha256],
    ['data.csv', text.length, null],
  );
  const answer = await fetch(structured.downloadUrl);
  assert.equal(answer.headers.get('content-type'), 'text/csv');
  assert.equal(answer.headers.get('content-disposition'), 'attachment; filename=data.csv');
  assert.match(answer.headers.get('etag')!, /^"v-[0-9a-f]{32}"$/);
  assert.equal(await answer.text(), text);
  assert.deepEqual(room.ended, [null]);
  assert.equal(room.it.opened, 0);
});

it('where the sha256 is known it is told, and is the ETag', async () => {
  await using room = await open({ sha256: 'ab'.repeat(32) });
  const shared = await room.share('a thing');
  assert.equal(shared.download.sha256, 'ab'.repeat(32));
  const answer = await fetch(shared.url, { method: 'HEAD' });
  assert.equal(answer.headers.get('etag'), `"${'ab'.repeat(32)}"`);
});

it('ranges, HEAD and conditions are answered as for files', async () => {
  await using room = await open();
  const { url } = await room.share('a thing');
  const head = await fetch(url, { method: 'HEAD' });
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, String(text.length)]);
  assert.equal(room.it.reads, 0);
  const etag = head.headers.get('etag')!;
  const get = (headers: Record<string, string>) => fetch(url, { headers });
  assert.equal(await (await get({ Range: 'bytes=5-11' })).text(), text.slice(5, 12));
  assert.equal(await (await get({ Range: 'bytes=-7' })).text(), text.slice(-7));
  assert.equal((await get({ Range: 'bytes=9999999-' })).status, 416);
  assert.equal((await get({ Range: 'bytes=2-3', 'If-Range': etag })).status, 206);
  assert.equal((await get({ 'If-None-Match': etag })).status, 304);
  const parts = await (await get({ Range: 'bytes=0-1,10-12' })).text();
  assert.ok(parts.includes(text.slice(10, 13)) && /multipart|Content-Range: bytes 0-1\//.test(parts));
  room.it.version = '"2"';
  assert.equal((await get({ Range: 'bytes=2-3', 'If-Range': etag })).status, 200);
  assert.equal((await get({ 'If-Match': etag })).status, 412);
});

it('what is gone answers 410, what is out of reach 503, before any byte', async () => {
  await using room = await open();
  const { url, token } = await room.share('a thing');
  for (const unreachable of ['found', 'opened'] as const) {
    room.it.unreachable = unreachable;
    assert.deepEqual(await codeOf(await fetch(url)), [503, 'source_unreachable']);
    assert.equal((await fetch(url, { method: 'HEAD' })).status, 503);
  }
  assert.equal((await status(room, token))['state'], 'active');
  room.it.unreachable = 'found';
  const hidden = await status(room, token);
  assert.deepEqual([hidden['state'], hidden['filename']], ['active', null]);
  await assert.rejects(room.share('a thing'), { code: 'source_unreachable' });
  room.things.clear();
  assert.deepEqual(await codeOf(await fetch(url)), [410, 'bytes_gone']);
  assert.equal((await status(room, token))['state'], 'gone');
  await assert.rejects(room.share('a thing'), { code: 'bytes_gone' });
});

it('an object that has become shorter is gone, and is closed', async () => {
  await using room = await open();
  const { url } = await room.share('a thing');
  const { it } = room;
  const bytes = it.bytes;
  Object.defineProperty(it, 'bytes', { get: () => (it.opened > 0 ? bytes.subarray(0, 10) : bytes) });
  assert.deepEqual(await codeOf(await fetch(url)), [410, 'bytes_gone']);
  assert.equal(it.opened, 0);
});

it('wrong bytes are taken for whole by nobody: not at once, not by going on, not by single use', async () => {
  for (const singleUse of [false, true]) {
    await using room = await open({ crc32: 1 });
    const { url, token } = await room.share('a thing', { singleUse });
    const answer = await fetch(url);
    assert.equal(answer.headers.get('content-length'), String(text.length));
    await assert.rejects(answer.text());
    const rest = await fetch(url, { headers: { Range: 'bytes=1000-' } });
    assert.deepEqual(await codeOf(rest), [422, 'zip_damaged']);
    assert.equal((await status(room, token))['state'], 'gone');
    assert.deepEqual([room.ended, room.it.opened], [[], 0]);
    assert.deepEqual(
      room.given.map(({ failure }) => failure),
      ['zip_damaged'],
    );
    Object.assign(room.it, { version: '"2"', crc32: crc32(room.it.bytes) });
    assert.equal(await (await fetch(url)).text(), text);
  }
});

it('a part is given without the CRC of the whole; all of it as a range is checked', async () => {
  await using room = await open({ crc32: 1 });
  const { url } = await room.share('a thing');
  const get = (range: string) => fetch(url, { headers: { Range: `bytes=${range}` } });
  assert.equal(await (await get('0-99')).text(), text.slice(0, 100));
  await assert.rejects(async () => (await get('0-')).text());
});

it('nothing at all has a CRC too', async () => {
  await using room = await openElsewhere(
    new Map([
      ['empty', thing('')],
      ['wrong', thing('', { crc32: 1 })],
    ]),
  );
  assert.equal(await (await fetch((await room.share('empty')).url)).text(), '');
  assert.equal(await (await fetch((await room.share('empty', { singleUse: true })).url)).text(), '');
  assert.deepEqual(await codeOf(await fetch((await room.share('wrong')).url)), [422, 'zip_damaged']);
});

it('single use: one of many gets it, in one read, and HEAD uses nothing up', async () => {
  await using room = await open();
  const { url, token } = await room.share('a thing', { singleUse: true });
  assert.equal((await fetch(url, { method: 'HEAD' })).status, 200);
  const bodies = await Promise.all([1, 2, 3].map(async () => (await fetch(url)).text()));
  assert.equal(bodies.filter((body) => body === text).length, 1);
  assert.equal(room.it.reads, 1);
  assert.equal((await status(room, token))['state'], 'used');
});

it('a source that fails on the way does not use a link up', async () => {
  await using room = await open();
  const { url } = await room.share('a thing', { singleUse: true });
  room.it.unreachable = 'opened';
  assert.equal((await fetch(url)).status, 503);
  room.it.unreachable = 'no';
  assert.equal(await (await fetch(url)).text(), text);
  assert.equal((await fetch(url)).status, 404);
});

it('use is counted, in statistics and metrics, and a revoked link is dead at once', async () => {
  await using room = await open();
  const { url, token } = await room.share('a thing');
  await (await fetch(url)).text();
  await (await fetch(url, { headers: { Range: 'bytes=0-9' } })).text();
  // An answer ends for the client a moment before it is noted.
  await eventually(async () => Number((await status(room, token))['bytesSent']) >= text.length + 10);
  const { downloads, bytesSent, state, size } = await status(room, token);
  assert.deepEqual([downloads, bytesSent, state, size], [1, text.length + 10, 'active', text.length]);
  assert.match(await room.metrics.linksMade.get().then(JSON.stringify), /"elsewhere"/);
  await room.links.revoke({ user: 'ada' }, token);
  assert.equal((await fetch(url)).status, 404);
  await assert.rejects(room.links.revoke({ user: 'bob' }, token), { code: 'not_found' });
});
