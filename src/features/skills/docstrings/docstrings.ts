/**
 * Reads the documentation of Python, JavaScript and TypeScript out of their text. Nothing is run or imported, so a file
 * that is hostile, or broken, costs no more than its length (decision 052). It opens no file.
 */
import type { Documentation, DocumentedLanguage } from './docstring.ts';
import { readJavaScriptDocs } from './javascript.ts';
import { readPythonDocs } from './python.ts';

export type { Documentation, DocumentedItem, DocumentedLanguage } from './docstring.ts';

const extensions: Readonly<Record<string, DocumentedLanguage>> = {
  py: 'python',
  js: 'javascript',
  mjs: 'javascript',
  cjs: 'javascript',
  ts: 'typescript',
  mts: 'typescript',
  cts: 'typescript',
};

/** The language of a file, by its name; null for one that has no documentation to read. */
export function findLanguage(name: string): DocumentedLanguage | null {
  const [, extension = ''] = /\.([a-z]+)$/i.exec(name) ?? [];
  return extensions[extension.toLowerCase()] ?? null;
}

export const readDocumentation = (language: DocumentedLanguage, text: string): Documentation =>
  language === 'python' ? readPythonDocs(text) : readJavaScriptDocs(text);
