import { WorkcrateError } from '../../errors.ts';

const keyForm = /^[a-z0-9][a-z0-9_-]*(?:\/[a-z0-9][a-z0-9_-]*)*$/;
const idForm = /^[a-z0-9][a-z0-9_-]{0,99}$/;

const isKey = (text: string): boolean => text.length <= 200 && keyForm.test(text);
const isStagingId = (text: string): boolean => idForm.test(text);

/**
 * Where things stand in a bucket or container that others may use too: objects below `objects/`, what is on its way
 * below `staging/`, so that neither can be taken for the other.
 */
export interface Names {
  object(key: string): string;
  staged(id: string): string;
  /** The key of an object by its whole name; null for what somebody else has put there. */
  keyOf(name: string): string | null;
  idOf(name: string): string | null;
}

export function namesBelow(prefix: string): Names {
  const [objects, staging] = [`${prefix}objects/`, `${prefix}staging/`];
  const below = (folder: string, name: string, isFit: (text: string) => boolean): string | null => {
    const rest = name.slice(folder.length);
    return name.startsWith(folder) && isFit(rest) ? rest : null;
  };
  return {
    object: (key) => objects + fit(key, isKey, 'storage key'),
    staged: (id) => staging + fit(id, isStagingId, 'staging id'),
    keyOf: (name) => below(objects, name, isKey),
    idOf: (name) => below(staging, name, isStagingId),
  };
}

function fit(text: string, isFit: (text: string) => boolean, what: string): string {
  if (!isFit(text)) throw new WorkcrateError('invalid_input', `${JSON.stringify(text)} is no ${what}.`);
  return text;
}
