/**
 * Sizes, times and names as people and models read them, in every message. It does not parse sizes and times:
 * `platform/config/kinds.ts` does.
 */

const byteUnits = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const;

/** A size as people read it, such as `1.5 GB`, in units of 1024, which settings take too. */
export function formatBytes(bytes: number): string {
  const step = Math.min(byteUnits.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const amount = bytes / 1024 ** step;
  return `${step === 0 || amount >= 100 ? Math.round(amount) : Number(amount.toFixed(1))} ${byteUnits[step]}`;
}

/** A length of time as people read it: `791 ms`, `1.2 s`, `5 min 3 s`, `2 h 5 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${Number((ms / 1000).toFixed(1))} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return joinUnits(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  return joinUnits(Math.floor(seconds / 3600), 'h', Math.floor((seconds % 3600) / 60), 'min');
}

const joinUnits = (large: number, largeUnit: string, small: number, smallUnit: string): string =>
  `${large} ${largeUnit}${small === 0 ? '' : ` ${small} ${smallUnit}`}`;

export const formatCount = (count: number): string => count.toLocaleString('en-US');

/** A number with what is counted, as `1 link` or `2,000 links`. */
export const countThings = (count: number, thing: string): string =>
  `${formatCount(count)} ${thing}${count === 1 ? '' : 's'}`;

/**
 * What JSON leaves as it is, although terminals act on it, take it for the end of a line, or show the rest in another
 * order or not at all.
 */
const unprintableCharacters =
  // oxlint-disable-next-line no-control-regex -- these are the ones that are looked for
  /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

const escapeCharacter = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Text of others in a message whose words are fixed: it stays on its line, and no terminal acts on it. */
export const escapeControls = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- these are the ones that are looked for
  text.replaceAll(/[\u0000-\u001f]/g, escapeCharacter).replace(unprintableCharacters, escapeCharacter);

/** JSON of plain characters, whatever the value contains; one line, unless it is indented. */
export const toPlainJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(unprintableCharacters, escapeCharacter);

/** A name or path, quoted as JSON unless it is plain, so that none can pass for words or a line of ours. */
export const quoteName = (name: string): string =>
  /^[\p{L}\p{N}._/+@=-]+$/u.test(name) ? name : toPlainJson(name);

/**
 * Text of others on one line, as JSON, so that it cannot pass for a line of ours: white space becomes single spaces, and
 * what is longer than `most` characters is cut.
 */
export function quoteShort(text: string, most: number): string {
  const line = text.replaceAll(/\s+/gu, ' ').trim();
  return toPlainJson(line.length <= most ? line : `${line.slice(0, most - 1).trimEnd()}…`);
}

/** At most `length` units from the start; half a character is left out. */
export function keepStart(text: string, length: number): string {
  return text.slice(0, isSplit(text, length) ? length - 1 : length);
}

/** At most `length` units from the end; half a character is left out. */
export function keepEnd(text: string, length: number): string {
  const from = Math.max(0, text.length - length);
  return text.slice(isSplit(text, from) ? from + 1 : from);
}

/** Whether this index splits a surrogate pair. */
function isSplit(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return false;
  return (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(at) & 0xfc00) === 0xdc00;
}
