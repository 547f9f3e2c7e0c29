import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ToolAnswer, ToolContext } from 'workcrate/toolkit';
import type { ZoteroLibrary } from './library.ts';
import feature from './feature.ts';
import { libraryTools } from './tools.ts';
import { article, articles, collection, keyOf, patient, serveZotero } from './zotero-server.testing.ts';

const unasked = async (): Promise<never> => assert.fail('these are short enough for the text');

/** A long bibliography is a file; `test/behaviour/answers/` has one. */
const sharing = {
  files: { add: unasked },
  links: { share: unasked },
  fileTtl: 60,
  maxTtl: 60,
  baseUrl: () => assert.fail('no link was asked for'),
};

async function call(library: ZoteroLibrary, name: string, input: object) {
  const tool = libraryTools.find((one) => one.name === name)!;
  const context = { signal: patient() } as ToolContext;
  const answer = (await tool.handle(
    { library, ...sharing },
    tool.input.parse(input),
    context,
  )) as ToolAnswer<unknown>;
  return { text: answer.text, structured: tool.output.parse(answer.structured) as Record<string, unknown> };
}

test('search_library tells what to cite, and where more is', async () => {
  const items = [article(0, { extra: 'Citation Key: {odd}' }), ...articles(3).slice(1)];
  await using it = await serveZotero({ items });
  const { text, structured } = await call(it.zotero, 'search_library', { query: 'article', limit: 2 });
  assert.equal(
    text,
    [
      '3 found, 2 shown',
      `@${keyOf(0)} Doe (2020) "Article 0": journalArticle; doi 10.1234/0; https://example.org/paper; tags read`,
      `@doe1 Doe (2020) "Article 1": journalArticle; key ${keyOf(1)}; doi 10.1234/1; https://example.org/paper; tags read`,
      'and 1 more: call again with offset 2',
    ].join('\n'),
  );
  assert.deepEqual([structured['total'], structured['count'], structured['next_offset']], [3, 2, 2]);
  const rest = await call(it.zotero, 'search_library', { query: 'article', limit: 2, offset: 2 });
  assert.deepEqual([rest.structured['count'], rest.structured['next_offset']], [1, null]);
});

test('bibliography_for gives CSL JSON or BibTeX by keys and collection, each once, and names what is missing', async () => {
  const items = [article(1, { collections: ['COLLAAAA'] }), article(2)];
  await using it = await serveZotero({ items, collections: [collection('COLLAAAA', 'Papers')] });
  const wanted = { keys: ['doe1', 'doe2', 'nobody'], collection: 'Papers' };
  const csl = await call(it.zotero, 'bibliography_for', wanted);
  const ids = (JSON.parse(String(csl.structured['content'])) as { id: string }[]).map(({ id }) => id);
  assert.deepEqual(
    [ids, csl.structured['count'], csl.structured['missing']],
    [['doe1', 'doe2'], 2, ['nobody']],
  );
  assert.match(csl.text, /^2 references as csljson\.\nNot in the library: nobody\n\[/);
  const bibtex = await call(it.zotero, 'bibliography_for', { ...wanted, format: 'bibtex' });
  assert.deepEqual(String(bibtex.structured['content']).match(/^@\w+\{\w+/gm), [
    '@article{doe1',
    '@article{doe2',
  ]);
  await assert.rejects(call(it.zotero, 'bibliography_for', {}), { code: 'invalid_input' });
});

test('more references than a conversation holds are refused', async () => {
  const items = articles(40, { collections: ['COLLAAAA'] }).map((item) => ({
    ...item,
    csljson: { type: 'book', abstract: 'x'.repeat(20_000) },
  }));
  await using it = await serveZotero({ items, collections: [collection('COLLAAAA', 'Papers')] });
  await assert.rejects(call(it.zotero, 'bibliography_for', { collection: 'Papers' }), { code: 'too_large' });
});

test('without a library there are no tools for one', async () => {
  const list = async (zoteroLibrary: string | null) => {
    const { tools = [] } = await feature.declare!({ settings: { zoteroLibrary } } as never);
    return tools.map(({ name }) => name);
  };
  assert.deepEqual(await list(null), []);
  assert.deepEqual(await list('users/1'), ['search_library', 'bibliography_for']);
});
