/**
 * The fields that words are found in, with their weights for BM25F, and lengths of fields as one byte. The texts of a
 * crate's fields are put together in `index/`, and scores are computed there.
 */

/** The fields that words are searched in; their order is part of the index. At most eight. */
export const textFields = [
  { name: 'title', weight: 2, lengthMatters: 0.75, description: 'the name of the crate' },
  { name: 'description', weight: 1, lengthMatters: 0.75, description: 'the description of the crate' },
  { name: 'author', weight: 2, lengthMatters: 0.3, description: 'names of authors and creators' },
  { name: 'keyword', weight: 2, lengthMatters: 0.4, description: 'its keywords' },
  { name: 'entity', weight: 0.7, lengthMatters: 0.6, description: 'names of people, files and things in it' },
  { name: 'file', weight: 0.5, lengthMatters: 0.6, description: 'paths of the files in it' },
  { name: 'identifier', weight: 2, lengthMatters: 0.2, description: 'DOIs and other identifiers' },
] as const;

export type TextField = (typeof textFields)[number]['name'];

/** Other names that users may give for a field. */
const textFieldAliases: Readonly<Record<string, TextField>> = {
  name: 'title',
  authors: 'author',
  creator: 'author',
  keywords: 'keyword',
  entities: 'entity',
  files: 'file',
  filename: 'file',
  path: 'file',
  identifiers: 'identifier',
  doi: 'identifier',
};

/** The index of a field in the list, or -1. */
export function findTextFieldNumber(name: string): number {
  const lower = name.toLowerCase();
  const own = Object.hasOwn(textFieldAliases, lower) ? textFieldAliases[lower] : lower;
  return textFields.findIndex((field) => field.name === own);
}

/** How fast repetitions of a word stop counting: k1 of BM25. */
export const bm25Saturation = 1.2;

const maxExactLength = 32;

/** A length in one byte: exact while it is small, then in steps of a sixteenth or so. */
export function encodeLengthByte(length: number): number {
  if (length < maxExactLength) return length;
  const exponent = Math.floor(Math.log2(length));
  const step = Math.floor((length / 2 ** exponent - 1) * 16);
  return Math.min(255, maxExactLength + (exponent - 5) * 16 + step);
}

/** The length that each byte encodes. */
export const lengthsByByte: Float64Array = Float64Array.from({ length: 256 }, (_, byte) => {
  if (byte < maxExactLength) return byte;
  const exponent = Math.floor((byte - maxExactLength) / 16) + 5;
  return 2 ** exponent * (1 + ((byte - maxExactLength) % 16) / 16);
});
