import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import { checkStyle, bundledStyles, readCitationStyle } from './styles.ts';

const inStyle = (inner: string): string =>
  `<?xml version="1.0"?>\n<style xmlns="http://purl.org/net/xbiblio/csl" version="1.0" class="in-text">\n${inner}\n</style>`;
const layout = '<citation><layout><text variable="title"/></layout></citation>';
const minimal = inStyle(layout);

const byContent = (content: string) => readCitationStyle({ name: null, content, folder: null });
const byName = (name: string, folder: string | null = null) =>
  readCitationStyle({ name, content: null, folder });

function folderOf(files: Readonly<Record<string, string>>) {
  const path = mkdtempSync(join(tmpdir(), 'styles-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

test('each of our own styles is CSL and says that it is ours', async () => {
  for (const name of bundledStyles) {
    const style = (await byName(name)) ?? '';
    checkStyle(style);
    assert.match(style, /Workcrate's own rendering/);
  }
});

test('no style, and the one that Pandoc has, is null', async () => {
  assert.equal(await readCitationStyle({ name: null, content: null, folder: null }), null);
  assert.equal(await byName('chicago-author-date'), null);
});

test('a style is taken by its content as it is', async () => {
  assert.equal(await byContent(minimal), minimal);
  const odd = inStyle(`<!-- a > b --><info><title><![CDATA[<x>]]></title></info><macro name='a'/>${layout}`);
  assert.equal(await byContent(odd), odd);
});

const refused: [what: string, content: string, line: number | null, message: RegExp][] = [
  ['is no XML', 'APA, please', 1, /not XML/],
  [
    'has a tag that is not closed',
    inStyle('<citation>\n<layout>\n</citation>'),
    5,
    /<\/citation> closes <layout>/,
  ],
  ['ends early', '<style xmlns="http://purl.org/net/xbiblio/csl">\n<info>', 2, /<info> is not closed/],
  ['has an attribute without quotes', inStyle('<citation a=b></citation>'), 3, /attribute/],
  ['has another root', '<html></html>', 1, /must begin with <style/],
  ['has no citation', inStyle('<info/>'), null, /no <citation>/],
  ['has a document type', `<!DOCTYPE a [<!ENTITY x "y">]>${minimal}`, 1, /document type or an entity/],
  [
    'has a macro that calls itself',
    inStyle(`<macro name="a"><text macro="b"/></macro>\n<macro name="b"><text macro="a"/></macro>${layout}`),
    3,
    /"a" calls itself/,
  ],
  [
    'only refers to another',
    inStyle('<info><link href="http://www.zotero.org/styles/apa" rel="independent-parent"/></info>'),
    null,
    /only refers to http:\/\/www\.zotero\.org\/styles\/apa/,
  ],
  ['is longer than styles are', minimal.padEnd(1024 * 1024 + 1), null, /longer than 1 MB/],
];

for (const [what, content, line, message] of refused)
  test(`a style that ${what} is refused`, () =>
    assert.rejects(byContent(content), (error) => {
      assert.ok(error instanceof WorkcrateError && error.code === 'document_invalid');
      assert.match(error.message, message);
      assert.equal(error.details['line'] ?? null, line);
      return true;
    }));

test('a style of the folder is had by its name, and goes before our own', async () => {
  using folder = folderOf({ 'apa.csl': minimal, 'house.csl': minimal });
  assert.equal(await byName('house', folder.path), minimal);
  assert.equal(await byName('House.csl', folder.path), minimal);
  assert.equal(await byName('apa', folder.path), minimal);
  assert.notEqual(await byName('ieee', folder.path), null);
});

test('no name leads out of the folder, and an unknown one is answered with those that there are', async () => {
  using outside = folderOf({ 'secret.csl': minimal });
  using folder = folderOf({ 'house.csl': minimal });
  symlinkSync(join(outside.path, 'secret.csl'), join(folder.path, 'linked.csl'));
  for (const name of ['../secret', `${outside.path}/secret`, '..', '', 'a/b', 'a\0', 'http://x/y', 'nothing'])
    await assert.rejects(
      byName(name, folder.path),
      (error) =>
        isWorkcrateError(error, 'document_invalid') && /chicago-author-date, apa.*house/.test(error.message),
    );
  await assert.rejects(byName('linked', folder.path), (error) => isWorkcrateError(error, 'path_refused'));
  await assert.rejects(byName('house', join(folder.path, 'gone')), /There is no citation style "house"/);
});

// Where the time grew with the square of the length, each would take an hour and more.
test('a style of 1 MB without an end is refused at once', { timeout: 60_000 }, () => {
  for (const piece of ['a', ' ', '<a ', '<a b="c" '])
    assert.throws(() => checkStyle(`<${piece.repeat(1_000_000 / piece.length)}>`), {
      code: 'document_invalid',
    });
});

test('any text is taken for a style or refused with what is wrong', () => {
  const piece = fc.constantFrom(
    '<style xmlns="http://purl.org/net/xbiblio/csl">',
    '</style>',
    '<citation>',
    '</citation>',
    '<!--',
    '-->',
    '<macro name="a">',
    '<text macro="a"/>',
    '</macro>',
    '<',
    '>',
    '"',
    '<![CDATA[',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, fc.string()), { maxLength: 12 }), (pieces) => {
      try {
        checkStyle(pieces.join(''));
      } catch (error) {
        assert.ok(isWorkcrateError(error, 'document_invalid'));
      }
    }),
    { numRuns: 500 },
  );
});
