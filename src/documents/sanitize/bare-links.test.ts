import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ast, Inline } from './ast.ts';
import { withBareLinks } from './links.ts';

const linked = (inlines: Inline[]): Inline[] => {
  const ast: Ast = { 'pandoc-api-version': [1, 23, 1], meta: {}, blocks: [{ t: 'Para', c: inlines }] };
  const [block] = withBareLinks(ast).blocks;
  return block!.t === 'Para' ? block.c : [];
};
const word = (c: string): Inline => ({ t: 'Str', c });
const link = (text: Inline[], url: string): Inline => ({ t: 'Link', c: [['', [], []], text, [url, '']] });

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
