/** The fields that words are found in, with their weights. How scores are made of them is in `index/`. */

/** The fields that words are searched in; their order is part of the index. */
export const textFields = [
  { name: 'title', weight: 2, description: 'the name of the crate' },
  { name: 'description', weight: 1, description: 'the description of the crate' },
  { name: 'author', weight: 2, description: 'names of authors and creators' },
  { name: 'keyword', weight: 2, description: 'its keywords' },
  { name: 'entity', weight: 0.7, description: 'names of people, files and things in it' },
  { name: 'file', weight: 0.5, description: 'paths of the files in it' },
  { name: 'identifier', weight: 2, description: 'DOIs and other identifiers' },
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
