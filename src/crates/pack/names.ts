import { WorkcrateError } from '../../errors.ts';
import { splitExtension } from '../../filenames.ts';

/**
 * Gives each file a path of its own in the archive, as it was named where any reader can take that. Names that differ by
 * case or by Unicode form are two names, here as in the archive.
 */
export function createNaming() {
  const taken = new Set<string>();
  const numbers = new Map<string, number>();
  return (folder: string, name: string): string => {
    const path = `${folder}/${name.split('/').filter(Boolean).map(harmless).join('/')}`;
    const own = taken.has(path) ? numbered(path, taken, numbers) : path;
    taken.add(own);
    return own;
  };
}

export type Naming = ReturnType<typeof createNaming>;

/** What no reader of an archive takes: a backslash, a drive, a control character, a way up. */
function harmless(part: string): string {
  const plain = part
    .toWellFormed()
    .replace(/[\\\p{Cc}]/gu, '_')
    .replace(/^([a-z]):/i, '$1_');
  return /^\s*\.{1,2}\s*$/.test(plain) ? '_' : plain;
}

/** Goes on from the number last tried, as starting over takes quadratic time for many equal names. */
function numbered(path: string, taken: ReadonlySet<string>, numbers: Map<string, number>): string {
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const [stem, extension] = splitExtension(path.slice(folder.length));
  for (let number = (numbers.get(path) ?? 1) + 1; ; number++) {
    const candidate = `${folder}${stem} (${number})${extension}`;
    if (taken.has(candidate)) continue;
    numbers.set(path, number);
    return candidate;
  }
}

const usersFolder = 'users';
const sharedFolder = 'shared';
const mostFolderBytes = 250;

/** The folder of a user's own crates. No two users have the same one, on disks that ignore case neither. */
function folderOf(user: string): string {
  const name = [...Buffer.from(user)].map(plainOrHex).join('');
  if (user !== '' && user.isWellFormed() && name.length <= mostFolderBytes) return name;
  throw new WorkcrateError('invalid_input', 'Nothing can be packed for a user of this name: it is too long.');
}

function plainOrHex(byte: number): string {
  const character = String.fromCharCode(byte);
  return /[a-z0-9_-]/.test(character) ? character : `=${byte.toString(16).padStart(2, '0')}`;
}

/** Where a crate goes: below the folder of its owner, or where everybody's are. `attempt` counts from 1. */
export function objectName(owner: string | null, title: string, id: string, attempt: number): string {
  const folder = owner === null ? sharedFolder : `${usersFolder}/${folderOf(owner)}`;
  return `${folder}/${slug(title)}-${id}${attempt === 1 ? '' : `-${attempt}`}.zip`;
}

/** Whose a packed crate is by the name of its object: null for everybody's. */
export function ownerOfObject(name: string): string | null {
  const folder = /^users\/((?:[a-z0-9_-]|=[0-9a-f]{2})+)\//.exec(name)?.[1];
  if (folder === undefined) return null;
  const bytes = folder.replace(/=([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

const mostSlug = 60;

function slug(title: string): string {
  const plain = title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-');
  return plain.slice(0, mostSlug).replace(/^-+|-+$/g, '') || 'crate';
}
