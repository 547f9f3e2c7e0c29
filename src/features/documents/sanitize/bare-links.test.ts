import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PandocAst, PandocInline } from './ast.ts';
import { linkBareUrls } from './links.ts';

const linked = (inlines: PandocInline[]): PandocInline[] => {
  const ast: PandocAst = { 'pandoc-api-version': [1, 23, 1], meta: {}, blocks: [{ t: 'Para', c: inlines }] };
  const [block] = linkBareUrls(ast).blocks;
  return block!.t === 'Para' ? block.c : [];
};
const word = (c: string): PandocInline => ({ t: 'Str', c });
const link = (text: PandocInline[], url: string): PandocInline => ({
  t: 'Link',
  c: [['', [], []], text, [url, '']],
});

test('an address becomes a link, without the signs around it', () => {
  const url = 'https://example.org/a_b?c=(d)';
  assert.deepEqual(linked([word(`(${url}).`)]), [
    word('('),
    link([word(url.slice(0, -1))], url.slice(0, -1)),
    word(')).'),
  ]);
  assert.deepEqual(linked([word('http://example.org/,')]), [
    link([word('http://example.org/')], 'http://example.org/'),
    word(','),
  ]);
});

test('what is no address stays, and an address in a link is its text', () => {
  for (const text of ['https://', 'nohttps://x', 'ftp://x', 'example.org'])
    assert.deepEqual(linked([word(text)]), [word(text)]);
  const given = link([word('https://a.example/')], 'https://b.example/');
  assert.deepEqual(linked([given]), [given]);
});
