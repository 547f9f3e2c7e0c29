import type { BibEntry } from './bibtex-entries.ts';

/** What Babel calls the languages that Pandoc would not tell from English by anything else. */
const babelNames: Readonly<Record<string, string>> = {
  de: 'ngerman',
  fr: 'french',
  es: 'spanish',
  it: 'italian',
  pt: 'portuguese',
  nl: 'dutch',
  da: 'danish',
  sv: 'swedish',
  nb: 'norsk',
  nn: 'nynorsk',
  fi: 'finnish',
  pl: 'polish',
  cs: 'czech',
  sk: 'slovak',
  sl: 'slovene',
  hr: 'croatian',
  hu: 'magyar',
  ro: 'romanian',
  tr: 'turkish',
  el: 'greek',
  ru: 'russian',
  uk: 'ukrainian',
  bg: 'bulgarian',
  ca: 'catalan',
  et: 'estonian',
  lv: 'latvian',
  lt: 'lithuanian',
};

/**
 * Pandoc takes a title for English and lowers its capitals, unless the entry says otherwise: so that is added to an
 * entry which says nothing.
 */
export function inLanguage(
  own: string,
  { key, closed, start, fieldsAt }: BibEntry,
  language: string,
): string {
  const name = babelNames[language.toLowerCase().split('-')[0] ?? ''];
  const at = fieldsAt - start;
  if (name === undefined || key === null || !closed || own[at - 1] !== ',') return own;
  if (/[,\s](?:langid|hyphenation|language)\s{0,100}=/i.test(own.slice(at - 1))) return own;
  return `${own.slice(0, at)} langid = {${name}},${own.slice(at)}`;
}
