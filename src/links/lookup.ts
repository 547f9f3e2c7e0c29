import type { Database, Row, SqlValue } from '../database/database.ts';
import type { Files } from '../files/files.ts';
import { bundleDownload, fileDownload, type Download } from './download.ts';
import { bytesGone, linkFromRow, type Link } from './link.ts';

/** A link, and the way to what it points at. */
export interface FoundLink {
  readonly link: Link;
  /** Rejects with `bytes_gone` where the link has outlived its file or bundle. */
  download(): Promise<Download>;
}

/** One query for link and file together: it is made for every download. */
export async function findLink(
  { database, files }: { database: Database; files: Files },
  where: string,
  ...values: SqlValue[]
): Promise<FoundLink | null> {
  const [row] = await database.query(
    `SELECT links.*, files.name, files.media_type, files.size, files.sha256, files.storage_key,
       files.created_at AS file_created_at
     FROM links LEFT JOIN files ON files.id = links.file_id WHERE ${where}`,
    ...values,
  );
  if (!row) return null;
  const link = linkFromRow(row);
  return {
    link,
    download: async () =>
      link.bundleId === null ? linkedFile(files, row) : bundleDownload(database, files, link.bundleId),
  };
}

function linkedFile(files: Files, row: Row): Download {
  if (row['storage_key'] === null) throw bytesGone();
  return fileDownload(files, {
    name: row['name'] as string,
    mediaType: row['media_type'] as string,
    size: row['size'] as number,
    sha256: row['sha256'] as string,
    storageKey: row['storage_key'] as string,
    createdAt: row['file_created_at'] as number,
  });
}
