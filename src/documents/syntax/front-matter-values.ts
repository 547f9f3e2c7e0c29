import { WorkcrateError } from '../../errors.ts';
import type { Paper } from '../document.ts';
import type { MetaValue } from './ast.ts';
import { metaText } from './text.ts';

const papersByName: Readonly<Record<string, Paper>> = {
  a4: 'a4',
  a4paper: 'a4',
  letter: 'letter',
  letterpaper: 'letter',
  'us-letter': 'letter',
};
const millimetres: Readonly<Record<string, number>> = { mm: 1, cm: 10, in: 25.4, pt: 25.4 / 72 };
const [leastMargin, mostMargin] = [5, 80];
const [leastFontSize, mostFontSize] = [8, 24];

export function parsePaper(text: string): Paper {
  const name = text.trim().toLowerCase();
  if (Object.hasOwn(papersByName, name)) return papersByName[name]!;
  throw wrong('papersize', text, 'a4 or letter');
}

/** In millimetres, of a text such as `2.5cm`, `25mm` or `1in`. */
export function parseMargin(text: string): number {
  const found = /^(?:margin=)?(\d{1,3}(?:\.\d{1,3})?) ?(mm|cm|in|pt)$/.exec(text.trim().toLowerCase());
  const margin = found === null ? Number.NaN : Number(found[1]) * millimetres[found[2]!]!;
  if (margin >= leastMargin && margin <= mostMargin) return Math.round(margin * 100) / 100;
  throw wrong(
    'margin',
    text,
    `a length from ${leastMargin}mm to ${mostMargin}mm, such as 25mm, 2.5cm or 1in`,
  );
}

export function parseFontSize(text: string): number {
  const size = Number(/^(\d{1,2}(?:\.\d{1,2})?) ?(?:pt)?$/.exec(text.trim().toLowerCase())?.[1]);
  if (size >= leastFontSize && size <= mostFontSize) return size;
  throw wrong('fontsize', text, `a size from ${leastFontSize}pt to ${mostFontSize}pt, such as 11pt`);
}

export function parseLanguage(text: string): string {
  const given = text.trim().replaceAll('_', '-');
  if (/^[a-z]{2,3}(-[a-z0-9]{2,8}){0,4}$/i.test(given)) return given;
  throw wrong('lang', text, 'a language such as en or de-CH');
}

export function parseFlag(key: string, text: string): boolean {
  const given = text.trim().toLowerCase();
  if (given === 'true' || given === 'yes') return true;
  if (given === 'false' || given === 'no') return false;
  throw wrong(key, text, 'true or false');
}

/** The text of a value that has to be one. */
export function demandText(key: string, value: MetaValue, most: number): string {
  const text = metaText(value);
  if (text === null) throw wrong(key, value.t === 'MetaList' ? 'a list' : 'a nested value', 'a line of text');
  if (text.length > most) throw wrong(key, text, `at most ${most} characters`);
  return text;
}

export function wrong(key: string, given: string, wanted: string): WorkcrateError {
  const shown = JSON.stringify(given.length > 60 ? `${given.slice(0, 60)}…` : given);
  return new WorkcrateError('document_invalid', `“${key}” is ${shown}, but has to be ${wanted}.`, {
    details: { key },
  });
}
