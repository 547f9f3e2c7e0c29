import { createHash } from 'node:crypto';
import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import { bytesGone, objectDownload, type Download } from '../../links/links.ts';
import type { OpenSourceObject, Source } from '../../storage/source.ts';

/** What a link to an object of a source, or to a stretch of one, has to remember. It is made here and never by a caller. */
export interface Reference {
  readonly source: string;
  readonly object: string;
  readonly stamp: string;
  readonly start: number;
  readonly end: number;
  readonly crc32: number | null;
  readonly sha256: string | null;
  readonly filename: string;
  readonly mediaType: string;
  readonly modified: number;
}

export type SourceOf = (url: string) => Source | null;

/** What links to crates give: `bytes_gone` once the object is no longer what it was. */
export function createElsewhere(sourceOf: SourceOf) {
  return {
    async download(text: string): Promise<Download> {
      const reference = JSON.parse(text) as Reference;
      const source = sourceOf(reference.source);
      if (source === null) throw bytesGone();
      const { stamp, start, end } = reference;
      const object = await source.stat(reference.object);
      if (object?.stamp !== stamp) throw bytesGone();
      const version = createHash('sha256')
        .update(JSON.stringify([stamp, start, end]))
        .digest('hex');
      const isWhole = start === 0 && end === object.size;
      return objectDownload({
        ...reference,
        version,
        object: () => openUnchanged(source, reference),
        ...(isWhole
          ? { presign: (expiresAt, response) => source.presign(reference.object, expiresAt, response) }
          : {}),
      });
    },
  };
}

async function openUnchanged(source: Source, reference: Reference): Promise<OpenSourceObject> {
  const opened = await source.open(reference.object).catch(asGone);
  if (opened === null) throw bytesGone();
  if (opened.object.stamp === reference.stamp) return opened;
  await opened[Symbol.asyncDispose]();
  throw bytesGone();
}

function asGone(error: unknown): null {
  if (isWorkcrateError(error, 'crate_gone') || isWorkcrateError(error, 'crate_changed')) return null;
  throw error;
}

/** A source that the settings name no longer. */
export const noSource = (url: string): WorkcrateError =>
  new WorkcrateError(
    'source_unreachable',
    `The crate is in ${url}, which is no source of this server any more. Name it again in --crate-sources, or sync_index.`,
  );
