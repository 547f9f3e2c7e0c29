import assert from 'node:assert/strict';
import { it } from 'node:test';
import { findMissingCharacters, describeMissingGlyphs } from './fonts.ts';

const said = (text: string): string =>
  String.raw`SourceDiagnostic { message: "PDF/A-2b error: the text ` +
  `\`\\"${text}\\"\` could not be displayed with font \`\\"Libertinus Serif\\"\`" }`;

it('characters are told apart, each once, whatever the exporter escapes', () => {
  const message = [said('你好'), said('你'), said(String.raw`\\u{1f389}`), said(' ')].join(', ');
  assert.deepEqual(findMissingCharacters(message), ['你', '好', '🎉']);
});

it('other complaints of the exporter name no characters', () => {
  assert.deepEqual(findMissingCharacters('message: "PDF/A-2b error: something else"'), []);
});

it('the list of missing characters is bounded', () => {
  const many = Array.from({ length: 5000 }, (_, at) => String.fromCodePoint(0x4e00 + at)).join('');
  assert.equal(findMissingCharacters(said(many)).length, 200);
});

it('the warning names characters, how many there are, and the package that has them', () => {
  const warning = describeMissingGlyphs(['中', '文']);
  assert.match(warning, /^2 characters have no glyph in any font: 中 文\. /);
  assert.match(warning, /npm install @expo-google-fonts\/noto-sans-sc /);
  assert.match(warning, /set --document-fonts/);
});

for (const [character, name] of [
  ['あ', 'noto-sans-jp'],
  ['한', 'noto-sans-kr'],
] as const)
  it(`the package for ${character} is ${name}`, () => {
    assert.match(describeMissingGlyphs([character]), new RegExp(`npm install @expo-google-fonts/${name} `));
  });

it('what no package has is for a folder of fonts, and the invisible is named by number', () => {
  const warning = describeMissingGlyphs(['🎉', '\u0301']);
  assert.match(warning, /🎉 U\+0301/);
  assert.doesNotMatch(warning, /npm install/);
});

it('of many characters the first are named', () => {
  const many = Array.from({ length: 60 }, (_, at) => String.fromCodePoint(0x4e00 + at));
  assert.match(describeMissingGlyphs(many), /^60 characters .* and 40 more\./);
});
