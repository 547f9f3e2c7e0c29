import { namesBelow, type Names as CommonNames } from '../remote/names.ts';
import type { Staged } from './staged.ts';

export interface Names extends CommonNames {
  /** What the names of all objects, and of all uploads, begin with. */
  readonly objects: string;
  readonly staging: string;
  /** The blob that holds the blocks of an upload. */
  home(staged: Pick<Staged, 'name' | 'key'>): string;
}

export function createNames(prefix: string): Names {
  const names = namesBelow(prefix);
  return {
    ...names,
    objects: `${prefix}objects/`,
    staging: `${prefix}staging/`,
    home: ({ name, key }) => (key === null ? `${name}/data` : names.object(key)),
  };
}
