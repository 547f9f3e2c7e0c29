import type { Layout } from '../document.ts';
import { codeFamilies, familiesFor, languageOf, mathFamilies } from './families.ts';

export { typstTemplate } from './template-text.ts';

/** How deep headings go into the table of contents. */
const contentsDepth = 3;

/**
 * What the template needs besides the metadata, for Pandoc's `variables`. These stand in the markup as they are, so all
 * of them are numbers, or names that were looked at. `families` are those of `Typst`.
 */
export function templateVariables(layout: Layout, families: readonly string[]): Record<string, unknown> {
  const inOrder = familiesFor(layout.language, families);
  const { language, region } = languageOf(layout.language);
  return {
    'paper-name': layout.paper === 'a4' ? 'a4' : 'us-letter',
    'margin-mm': decimal(layout.marginMm),
    'font-size-pt': decimal(layout.fontSizePt),
    'text-language': language,
    'text-region': region === null ? 'none' : `"${region}"`,
    'text-fonts': listed(inOrder),
    'code-fonts': listed(codeFamilies(inOrder)),
    'math-fonts': listed(mathFamilies(inOrder)),
    'number-headings': layout.numberSections,
    'show-contents': layout.toc,
    'contents-depth': String(contentsDepth),
  };
}

/** Never `1e-7`. */
const decimal = (value: number): string => value.toFixed(2);

/** A list of strings of Typst. The comma makes one alone a list, too. */
const listed = (names: readonly string[]): string => names.map((name) => `${quoted(name)},`).join(' ');

const quoted = (name: string): string => `"${name.replaceAll(/["\\]/g, '\\$&')}"`;
