import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import { belowRoot, parseName } from '../../paths/paths.ts';
import { demandStyle, invalidStyle, mostStyleLength } from './style-xml.ts';

/** They are no code, so a build leaves them where they are. */
const ownFolder = join(import.meta.dirname, '../../../src/documents/styles');

/** The one that Pandoc has. */
const builtIn = 'chicago-author-date';
export const ownStyles = ['apa', 'harvard', 'ieee', 'mla', 'nature', 'vancouver'] as const;

export interface WantedStyle {
  readonly name: string | null;
  /** CSL; it goes before a name. */
  readonly content: string | null;
  /** Of the operator: what is there goes before our own. */
  readonly folder: string | null;
}

/** The text of a style in CSL; null is Pandoc's own: Chicago, author and date. */
export async function styleFor({ name, content, folder }: WantedStyle): Promise<string | null> {
  if (content !== null) return checked(content);
  if (name === null) return null;
  const plain = name.toLowerCase().replace(/\.csl$/, '');
  if (!/^[a-z0-9][a-z0-9._-]{0,99}$/.test(plain)) throw unknown(name, folder);
  const theirs = folder === null ? null : styleIn(folder, plain);
  if (theirs !== null) return checked(theirs);
  if (plain === builtIn) return null;
  if (!(ownStyles as readonly string[]).includes(plain)) throw unknown(name, folder);
  return readFileSync(join(ownFolder, `${plain}.csl`), 'utf8');
}

function checked(style: string): string {
  demandStyle(style);
  return style;
}

function styleIn(folder: string, name: string): string | null {
  try {
    using file = belowRoot(folder, { links: 'within' }).open(parseName(`${name}.csl`));
    if (file.stats.size > mostStyleLength)
      throw invalidStyle('it is longer than 1 MB, which no style is.', null);
    return readFileSync(file.fd, 'utf8');
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return null;
    throw error;
  }
}

const mostNamed = 30;

function unknown(name: string, folder: string | null): WorkcrateError {
  const theirs = folder === null ? [] : namesIn(folder);
  const known = [...new Set([builtIn, ...ownStyles, ...theirs])];
  const more = known.length > mostNamed ? ' and others' : '';
  return new WorkcrateError(
    'document_invalid',
    `There is no citation style "${name.slice(0, 100)}". There are ${known.slice(0, mostNamed).join(', ')}${more}; any other can be given by its content, as CSL.`,
  );
}

function namesIn(folder: string): string[] {
  try {
    const { entries } = belowRoot(folder).list();
    return entries.flatMap(({ name }) => /^(.+)\.csl$/.exec(name)?.[1] ?? []).sort();
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return [];
    throw error;
  }
}
