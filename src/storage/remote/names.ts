import { checkKey, checkStagingId, isKey, isStagingId } from '../keys.ts';

/**
 * Where things stand in a bucket or container that others may use too: objects below `objects/`, what is on its way
 * below `staging/`, so that neither can be taken for the other.
 */
export interface Names {
  /** What the names of all objects, and of all uploads, begin with. */
  readonly objects: string;
  readonly staging: string;
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
    objects,
    staging,
    object: (key) => objects + checkKey(key),
    staged: (id) => staging + checkStagingId(id),
    keyOf: (name) => below(objects, name, isKey),
    idOf: (name) => below(staging, name, isStagingId),
  };
}
