import type { Queries, Row } from '../database/database.ts';
import { WorkcrateError } from '../errors.ts';
import { program } from '../program.ts';

/** An owned, immutable, hashed object in storage. */
export interface StoredFile {
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly mediaType: string;
  readonly size: number;
  readonly sha256: string;
  readonly crc32: number;
  /** How it came here: `upload`, `share`, … */
  readonly origin: string;
  readonly storageKey: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

export async function insertFile(tx: Queries, file: StoredFile): Promise<void> {
  await tx.query(
    `INSERT INTO files (id, owner, name, media_type, size, sha256, crc32, origin, storage_key, created_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    file.id,
    file.owner,
    file.name,
    file.mediaType,
    file.size,
    file.sha256,
    file.crc32,
    file.origin,
    file.storageKey,
    file.createdAt,
    file.expiresAt,
  );
}

/** What a link needs of its file. */
export type LinkedFile = Pick<
  StoredFile,
  'name' | 'mediaType' | 'size' | 'sha256' | 'storageKey' | 'createdAt'
>;

/** Joins files to rows of another room: one query for both, where two would be made for every download. */
export const joinFileSql = (idColumn: string): string => `LEFT JOIN files ON files.id = ${idColumn}`;

/** The columns that `readLinkedFile` reads, beside those of another table. */
export const linkedFileSql = `files.name, files.media_type, files.size, files.sha256, files.storage_key,
  files.created_at AS file_created_at`;

/** Null where the file is gone. */
export function readLinkedFile(row: Row): LinkedFile | null {
  if (row['storage_key'] === null) return null;
  return {
    name: row['name'] as string,
    mediaType: row['media_type'] as string,
    size: row['size'] as number,
    sha256: row['sha256'] as string,
    storageKey: row['storage_key'] as string,
    createdAt: row['file_created_at'] as number,
  };
}

export function fileFromRow(row: Row): StoredFile {
  return {
    id: row['id'] as string,
    owner: row['owner'] as string,
    name: row['name'] as string,
    mediaType: row['media_type'] as string,
    size: row['size'] as number,
    sha256: row['sha256'] as string,
    crc32: row['crc32'] as number,
    origin: row['origin'] as string,
    storageKey: row['storage_key'] as string,
    createdAt: row['created_at'] as number,
    expiresAt: row['expires_at'] as number,
  };
}

/** For whoever reads a file and finds other bytes than were sent. Nothing made of them must be given out. */
export function fileDamaged({ id, name }: Pick<StoredFile, 'id' | 'name'>): WorkcrateError {
  return new WorkcrateError(
    'file_damaged',
    `The stored bytes of ${name} (${id}) are damaged: their sha256 changed. Send the file again, ` +
      `and ask the operator to run ${program} check --read-data.`,
    { details: { fileId: id } },
  );
}
