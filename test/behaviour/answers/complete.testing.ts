/**
 * Whether the text of an answer says what its typed value says. A fact counts as said where the text has its value, in
 * one of the forms that people read: a size, a length of time, a time to the minute, a name as JSON. What a tool says in
 * other words, or leaves out on purpose, is in the table `wordings.testing.ts`.
 */
import { formatBytes, formatDuration } from '../../../src/platform/text/text.ts';
import { listFacts, type Fact, type JsonSchema } from './facts.testing.ts';
import { findWording, type Wording } from './wordings.testing.ts';

export interface Answer {
  readonly tool: string;
  readonly structured: unknown;
  readonly text: string;
}

/** The words that match a search are between ** and **. */
const withoutMarks = (text: string): string => text.replaceAll('**', '');

/** The text has the value. */
const plain: Wording = { silent: null };

/** What the text does not say. */
export function listUnsaid(schema: JsonSchema, { tool, structured, text }: Answer): Fact[] {
  const facts = [...listFacts(schema, structured)];
  const words = facts.flatMap(({ value }) => (typeof value === 'string' ? listTextForms(value) : []));
  const figures = removeTexts(text, words);
  const unsaid = facts.filter(({ path, value }) => {
    const wording = findWording(tool, path) ?? plain;
    if ('unsaid' in wording) return false;
    if ('unsaidIf' in wording && wording.unsaidIf(structured as Record<string, unknown>)) return false;
    if ('words' in wording) return !saysByWords(wording.words, value, text);
    if ('silent' in wording && value === wording.silent) return false;
    if ('start' in wording && typeof value === 'string')
      return !includesOne(withoutMarks(text), listTextForms(withoutMarks(value).slice(0, wording.start)));
    if ('form' in wording && typeof value === 'string') return !text.includes(wording.form(value));
    return !saysValue(path, value, text, figures);
  });
  return unsaid.filter(({ path }) => !isRestOfList(tool, path, facts, unsaid, text));
}

/** Whether the text says how many of a list it leaves out, and that is all that it leaves out. */
function isRestOfList(
  tool: string,
  path: string,
  facts: readonly Fact[],
  unsaid: readonly Fact[],
  text: string,
): boolean {
  const wording = findWording(tool, path);
  if (wording === null || !('listed' in wording)) return false;
  const count = (some: readonly Fact[]): number => some.filter((one) => one.path === path).length;
  const [, more = '0'] = /and (\d+) more/.exec(text) ?? [];
  return Number(more) >= count(unsaid) && Number(more) < count(facts);
}

/** Null is where silence says it: then the text must have none of the other words. */
function saysByWords(
  words: Readonly<Record<string, RegExp | null>>,
  value: Fact['value'],
  text: string,
): boolean {
  const expected = words[String(value)];
  if (expected === undefined) return false;
  if (expected !== null) return expected.test(text);
  return Object.values(words).every((other) => other === null || !other.test(text));
}

function saysValue(path: string, value: unknown, text: string, figures: string): boolean {
  switch (typeof value) {
    case 'string':
      return value === '' || includesOne(text, listTextForms(value));
    case 'number':
      return listNumberForms(path, value).some((form) => hasFigure(form, figures));
    case 'boolean':
      return false;
    default:
      return value === null;
  }
}

const includesOne = (text: string, forms: readonly string[]): boolean =>
  forms.some((form) => text.includes(form));

const timeForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/;

/** As it is, as JSON, without the line break at its end; a time to the minute. */
function listTextForms(value: string): string[] {
  if (timeForm.test(value) && value.length < 30)
    return [value.slice(0, 16), value.slice(0, 16).replace('T', ' ')];
  const whole = value.replace(/\n$/, '');
  return [whole, JSON.stringify(whole).slice(1, -1), indentLines(whole)];
}

const indentLines = (text: string): string => text.replaceAll('\n', '\n  ');

function listNumberForms(path: string, value: number): string[] {
  const forms = [String(value), value.toLocaleString('en')];
  if (/size|bytes|limit/i.test(path)) forms.push(formatBytes(value));
  if (path.endsWith('_ms')) forms.push(formatDuration(value));
  if (path.endsWith('mtime')) forms.push(...listTextForms(new Date(value).toISOString()));
  if (!Number.isInteger(value)) forms.push(value.toFixed(1), value.toFixed(2), value.toFixed(3));
  return forms;
}

/** A number is no part of a longer one. */
function hasFigure(form: string, text: string): boolean {
  const escaped = form.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(String.raw`(?<![\d.,])${escaped}(?![.,]?\d)`).test(text);
}

/** A digit in a name, an id or a URL is no figure. Longest first, so that no part of a name is left over. */
function removeTexts(text: string, words: readonly string[]): string {
  const long = words.filter((word) => word.length > 3 && !/^\d+$/.test(word));
  return long
    .toSorted((a, b) => b.length - a.length)
    .reduce((rest, word) => rest.replaceAll(word, ' § '), text);
}
