import { WorkcrateError } from '../../../platform/errors.ts';

/** Names of packed crates in their source: whose they are is in the name, so that every server knows it. */
const packedUsersFolder = 'users';
const packedSharedFolder = 'shared';
const maxUserFolderBytes = 250;

/** The folder of a user's own crates. It is unique for each user, even on disks that ignore case. */
function toUserFolder(user: string): string {
  const name = [...Buffer.from(user)].map(encodeFolderByte).join('');
  if (user !== '' && user.isWellFormed() && name.length <= maxUserFolderBytes) return name;
  throw new WorkcrateError(
    'invalid_input',
    'Nothing can be packed for this user: the name is empty, invalid or too long.',
  );
}

function encodeFolderByte(byte: number): string {
  const character = String.fromCharCode(byte);
  return /[a-z0-9_-]/.test(character) ? character : `=${byte.toString(16).padStart(2, '0')}`;
}

/** The object name of a crate: in the folder of its owner, or in the shared one. `attempt` counts from 1. */
export function createPackedObjectName(
  owner: string | null,
  title: string,
  id: string,
  attempt: number,
): string {
  const folder = owner === null ? packedSharedFolder : `${packedUsersFolder}/${toUserFolder(owner)}`;
  return `${folder}/${slugifyTitle(title)}-${id}${attempt === 1 ? '' : `-${attempt}`}.zip`;
}

/** Whether an object belongs to one user, whose name may be unreadable. */
export const isInUsersFolder = (name: string): boolean => name.startsWith(`${packedUsersFolder}/`);

/** The owner of a packed crate, by the name of its object; null for everybody. */
export function parsePackedObjectOwner(name: string): string | null {
  const folder = /^users\/((?:[a-z0-9_-]|=[0-9a-f]{2})+)\//.exec(name)?.[1];
  if (folder === undefined) return null;
  const bytes = folder.replace(/=([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

const maxSlugLength = 60;

function slugifyTitle(title: string): string {
  const plain = title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-');
  return plain.slice(0, maxSlugLength).replace(/^-+|-+$/g, '') || 'crate';
}
