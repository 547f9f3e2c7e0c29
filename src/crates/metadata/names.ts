import { cleaned, cut } from './clean.ts';
import type { Issues } from './issues.ts';

const longestName = 200;

/** An address or a prefixed name: `https://schema.org/Person`, `schema:Person`. */
const iri = /^[a-z_][a-z0-9_+.-]*:\S+$/i;

/** The last part of an address or a prefixed name, anything else as it is. */
function shortName(word: string): string {
  const plain = word.trim();
  if (!iri.test(plain)) return plain;
  const last = lastPart(plain);
  // RO-Crate says File where schema.org says MediaObject.
  return last === 'MediaObject' ? 'File' : last;
}

/** Looked for from the end: a list of all parts may be of any length. */
function lastPart(address: string): string {
  let end = address.length;
  while (end > 0 && isBetween(address[end - 1]!)) end--;
  let start = end;
  while (start > 0 && !isBetween(address[start - 1]!)) start--;
  return start === end ? address : address.slice(start, end);
}

function isBetween(character: string): boolean {
  return character === '/' || character === '#' || character === ':';
}

/**
 * The name of a property or a type. A word that the context defines is called by what it stands for, so that a word
 * of one's own for `author` is an author; many vocabularies have numbers for names, though, and there the word stays.
 */
export function nameFrom(word: string, definition: string | undefined, issues: Issues): string {
  if (word.startsWith('@')) return word;
  if (definition?.startsWith('@')) return definition;
  const meant = definition === undefined ? '' : shortName(definition);
  return tidyName(/^[A-Za-z]+$/.test(meant) ? meant : shortName(word), issues);
}

function tidyName(name: string, issues: Issues): string {
  // What the @ means is for keywords alone.
  const plain = cleaned(name).replace(/^@+/, '');
  if (plain === '') issues.add('name_empty');
  if (plain.length > longestName) issues.add('name_too_long', plain);
  return cut(plain, longestName);
}
