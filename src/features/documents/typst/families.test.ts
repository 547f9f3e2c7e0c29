import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  listCodeFamilies,
  sortFamiliesForLanguage,
  toTypstLanguage,
  listMathFamilies,
  listTextFamilies,
} from './fonts.ts';

it('text is looked for in fonts for reading before those for signs', () => {
  assert.deepEqual(listTextFamilies(['Noto Sans SC']), [
    'Libertinus Serif',
    'New Computer Modern',
    'Noto Sans SC',
    'DejaVu Sans Mono',
    'New Computer Modern Math',
  ]);
});

it('code and maths begin with fonts of their own, and have all the others behind', () => {
  const families = listTextFamilies(['Noto Sans SC']);
  assert.deepEqual(listCodeFamilies(families).slice(0, 2), ['DejaVu Sans Mono', 'Libertinus Serif']);
  assert.deepEqual(listMathFamilies(families)[0], 'New Computer Modern Math');
  assert.deepEqual(listCodeFamilies(families).toSorted(), families.toSorted());
});

for (const [language, first] of [
  ['zh', 'Noto Sans SC'],
  ['zh-TW', 'Noto Sans TC'],
  ['zh-Hant', 'Noto Sans TC'],
  ['ja', 'Noto Sans JP'],
  ['ko-KR', 'Noto Sans KR'],
  ['de', 'Noto Sans SC'],
] as const)
  it(`Chinese characters in a text in ${language} are those of ${first}`, () => {
    const cjk = ['SC', 'TC', 'JP', 'KR'].map((script) => `Noto Sans ${script}`);
    const ordered = sortFamiliesForLanguage(language, listTextFamilies(cjk));
    assert.equal(ordered[2], first);
    assert.deepEqual(ordered.toSorted(), listTextFamilies(cjk).toSorted());
  });

for (const [tag, language, region] of [
  ['en', 'en', null],
  ['de-CH', 'de', 'CH'],
  ['zh-Hant-TW', 'zh', 'TW'],
  ['es-419', 'es', null],
  ['"); #read("x', 'en', null],
  ['', 'en', null],
] as const)
  it(`the language of ${JSON.stringify(tag)} is ${language}, its region ${region}`, () => {
    assert.deepEqual(toTypstLanguage(tag), { language, region });
  });
