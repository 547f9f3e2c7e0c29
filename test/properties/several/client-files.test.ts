import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Program } from '../../behaviour/cli/program.testing.ts';
import { connectBy, type Connected } from '../../behaviour/client-files/clients.testing.ts';
import { questionOf, round, type Asked } from '../../behaviour/client-files/rounds.testing.ts';
import { startTeam, type Team } from './team.testing.ts';

const made = await startTeam();
const skip = typeof made === 'string' && made;
const team = made as Team;
after(() => (skip === false ? team[Symbol.asyncDispose]() : undefined));

const read = 'read_client_file';

/** A client that is served by this one, as far as it can tell. Its rounds are made by hand. */
const connect = ({ url }: Program): Promise<Connected> =>
  connectBy(new StreamableHTTPClientTransport(new URL(`${url}/mcp?structured=1`)), {
    version: '2026-07-28',
    capabilities: { elicitation: { form: {}, url: {} } },
    manners: {},
    more: { inputRequired: { autoFulfill: false } },
  });

/** What a person says to all that is asked. */
const saying = ({ requests, state }: Asked, answer: object) => ({
  requestState: state,
  inputResponses: Object.fromEntries(Object.keys(requests).map((key) => [key, answer])),
});
const typed = (asked: Asked, content: string) => saying(asked, { action: 'accept', content: { content } });

const pageOf = ({ requests }: Asked): string =>
  (Object.values(requests)[0]!.params as unknown as { url: string }).url;
const tokenIn = (url: string): string => url.split('/').at(-1)!;
const send = async ({ url }: Program, token: string, body: string): Promise<number> =>
  (await fetch(`${url}/uploads/${token}`, { method: 'PUT', body })).status;
const look = async ({ url }: Program, token: string): Promise<number> =>
  (await fetch(`${url}/ask/${token}`)).status;

describe("the client's files, asked for by one server and given to another", { skip }, () => {
  let one: Program;
  let two: Program;
  let atOne: Connected;
  let atTwo: Connected;
  before(async () => {
    [one, two] = await Promise.all([team.start(), team.start()]);
    [atOne, atTwo] = await Promise.all([connect(one), connect(two)]);
  });
  after(async () => {
    await atOne?.[Symbol.asyncDispose]();
    await atTwo?.[Symbol.asyncDispose]();
  });

  it('a form that one asked for is answered at the other, and there only once', async () => {
    const wish = { path: 'docs/form.md', via: 'form', refresh: true };
    const asked = await questionOf(atOne.client, read, wish);
    const { reply } = await round(atTwo.client, read, wish, typed(asked, 'hello'));
    assert.deepEqual([reply?.data?.text, reply?.data?.rung], ['hello', 'form']);
    const again = await round(atTwo.client, read, wish, typed(asked, 'twice'));
    assert.equal(again.reply?.code, 'invalid_input');
  });

  it('a page that one asked for is served and sent to at the other, and either has the file', async () => {
    const wish = { path: 'docs/page.md', via: 'url' };
    const asked = await questionOf(atOne.client, read, wish);
    const token = tokenIn(pageOf(asked));
    assert.deepEqual([await look(one, token), await look(two, token)], [200, 200]);
    assert.equal(await send(two, token, 'by page'), 201);
    assert.deepEqual([await look(one, token), await look(two, token)], [404, 404], 'it was used');
    const { reply } = await round(atTwo.client, read, wish, saying(asked, { action: 'accept' }));
    assert.deepEqual([reply?.data?.text, reply?.data?.rung], ['by page', 'url']);
  });

  it('who says no at one server can send nothing at the other', async () => {
    const wish = { path: 'docs/no.md', via: 'url' };
    const asked = await questionOf(atOne.client, read, wish);
    const { reply } = await round(atTwo.client, read, wish, saying(asked, { action: 'decline' }));
    assert.equal(reply?.code, 'client_refused');
    assert.equal(await send(one, tokenIn(pageOf(asked)), 'late'), 404);
  });

  it('what is sent by the URL of one is had at the other, also by a URL that was told earlier', async () => {
    const wish = { path: 'docs/sent.md', via: 'upload' };
    const urlAt = async ({ call }: Connected) => tokenIn((await call(read, wish)).data.offer.uploadUrl);
    const [first, second] = [await urlAt(atOne), await urlAt(atTwo)];
    assert.deepEqual([await urlAt(atOne), await urlAt(atTwo)], [first, second], 'told again');
    assert.equal(await send(two, first, 'sent'), 201);
    assert.equal((await atTwo.call(read, wish)).data.text, 'sent');
    const { data } = await atTwo.call('list_files', {});
    assert.deepEqual(data.files, [], 'taken over');
  });

  it('a server that is gone leaves its questions and URLs to the others', async () => {
    const gone = await team.start();
    const [form, upload] = [
      { path: 'docs/left.md', via: 'form' },
      { path: 'docs/sent-late.md', via: 'upload' },
    ];
    await using client = await connect(gone);
    const asked = await questionOf(client.client, read, form);
    const { uploadUrl } = (await client.call(read, upload)).data.offer;
    await gone.end('SIGKILL');
    const { reply } = await round(atOne.client, read, form, typed(asked, 'for all'));
    assert.equal(reply?.data?.text, 'for all');
    assert.equal(await send(two, tokenIn(uploadUrl), 'late'), 201);
    assert.equal((await atOne.call(read, upload)).data.text, 'late');
  });
});
