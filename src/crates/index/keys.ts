/**
 * Keys of the index are strings with a character for each byte of their UTF-8: they are compared as bytes are, and far
 * quicker. The first character says what is found under them; NUL is between the parts.
 */
export const kinds = {
  /** Entities that have a property of a value: property, type, folded value, value. */
  entity: 'e',
  /** Which documents have entities of a type with a property. */
  property: 'k',
  /** Where in documents a stem stands. */
  positions: 'p',
  /** Which documents hold a word as it was written, where that is not its stem. */
  form: 'u',
  /** Which documents hold a stem, in which fields and how often. */
  word: 'w',
} as const;

const ascii = /^\p{ASCII}*$/u;

/** A text as part of a key. NUL is no text. */
export function asKey(text: string): string {
  if (ascii.test(text) && !text.includes('\0')) return text;
  return Buffer.from(text.replaceAll('\0', '\ufffd'), 'utf8').toString('latin1');
}

/** The text that part of a key stands for. */
export const fromKey = (key: string): string => Buffer.from(key, 'latin1').toString('utf8');

export const wordKey = (stem: string): string => kinds.word + asKey(stem);
export const positionsKey = (stem: string): string => kinds.positions + asKey(stem);
export const formKey = (form: string): string => kinds.form + asKey(form);
export const propertyKey = (type: string, property: string): string =>
  `${kinds.property}${asKey(type)}\0${asKey(property)}`;

/** The first key after all that begin with `prefix`. */
export function afterPrefix(prefix: string): string {
  const last = prefix.charCodeAt(prefix.length - 1);
  return last === 255
    ? afterPrefix(prefix.slice(0, -1))
    : prefix.slice(0, -1) + String.fromCharCode(last + 1);
}
