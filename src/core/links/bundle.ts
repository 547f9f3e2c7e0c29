import { createHash } from 'node:crypto';
import type { Queries } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { cleanFilename, portableFilename } from '../../platform/text/filenames.ts';
import { fileDamagedError, type StoredFile } from '../files/files.ts';
import type { Caller } from '../identity.ts';
import { toBundledFile, toZipDownload, type Download } from './download.ts';
import { fileNotFoundError, insertLink, type Link, type LinksOptions } from './link.ts';
import { numberEqualNames } from '../../platform/zip/zip.ts';

interface NewBundle {
  readonly bundleId: string;
  readonly fileIds: readonly string[];
  readonly filename: string;
  readonly link: Link;
}

interface Progress {
  readonly signal: AbortSignal;
  report(done: number, total: number): void;
}

/** Records which files a bundle contains, under which names, and its sha256. */
export async function createBundle(
  options: LinksOptions,
  caller: Caller,
  bundle: NewBundle,
  progress: Progress,
): Promise<Download & { readonly sha256: string }> {
  const files = await findOwnFiles(options, caller, bundle.fileIds);
  const names = numberEqualNames(files.map((file) => portableFilename(file.name)));
  const entries = files.map((file, position) => toBundledFile(names[position]!, file));
  const name = toZipName(bundle.filename);
  const unhashed = toZipDownload(
    options.files,
    { name, sha256: '', createdAt: bundle.link.createdAt },
    entries,
  );
  const sha256 = await hashBundle(readBundle(unhashed, files, progress));
  await options.database.transaction(async (tx) => {
    for (const file of files)
      if (!(await options.files.extend(tx, caller, file.id, bundle.link.expiresAt)))
        throw fileNotFoundError(file.id);
    await insertBundle(tx, bundle, { name, sha256, size: unhashed.size });
    for (const [position, file] of files.entries())
      await tx.query(
        'INSERT INTO bundle_files (bundle_id, position, file_id, entry_name) VALUES (?, ?, ?, ?)',
        bundle.bundleId,
        position,
        file.id,
        names[position]!,
      );
    await insertLink(tx, caller, bundle.link);
  });
  return { ...unhashed, sha256 };
}

async function findOwnFiles(
  options: LinksOptions,
  caller: Caller,
  ids: readonly string[],
): Promise<StoredFile[]> {
  if (ids.length > options.maxBundleFiles)
    throw new WorkcrateError(
      'too_large',
      `A bundle takes at most ${options.maxBundleFiles} files, not ${ids.length}.`,
    );
  const files: StoredFile[] = [];
  for (const id of new Set(ids)) {
    const file = await options.files.find(caller, id);
    if (!file) throw fileNotFoundError(id);
    files.push(file);
  }
  return files;
}

function toZipName(filename: string): string {
  const name = cleanFilename(filename);
  return /\.zip$/i.test(name) ? name : cleanFilename(`${name}.zip`);
}

async function hashBundle(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of bytes) hash.update(chunk);
  return hash.digest('hex');
}

/**
 * Reads the whole archive once, to hash it; a client can then check that its download is whole. Each file must be what
 * was sent: its CRC is in the archive, so other bytes would make an archive that cannot be unpacked.
 */
async function* readBundle(
  download: Download,
  files: readonly StoredFile[],
  progress: Progress,
): AsyncGenerator<Uint8Array> {
  let done = 0;
  const opened = await download.open();
  // An empty file has no segment of its own.
  const inOrder = files.filter((file) => file.size > 0).values();
  for await (const segment of opened.segments(0, download.size)) {
    const chunks =
      'bytes' in segment
        ? [segment.bytes]
        : checkHashWhileReading(
            inOrder.next().value!,
            segment.object.read(segment.start, segment.end, progress.signal),
          );
    for await (const chunk of chunks) {
      done += chunk.length;
      yield chunk;
      progress.report(done, download.size);
    }
  }
}

/** Passes the bytes of a file through, and rejects at their end if they are not those that were sent. */
async function* checkHashWhileReading(
  file: StoredFile,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
  if (hash.digest('hex') !== file.sha256) throw fileDamagedError(file);
}

async function insertBundle(
  tx: Queries,
  { bundleId, link }: NewBundle,
  { name, sha256, size }: { name: string; sha256: string; size: number },
): Promise<void> {
  await tx.query(
    'INSERT INTO bundles (id, owner, name, size, sha256, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
    bundleId,
    link.owner,
    name,
    size,
    sha256,
    link.createdAt,
    link.expiresAt,
  );
}
