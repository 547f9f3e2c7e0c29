/**
 * What the page shows of a crate beyond what tools answer: the crate's own preview page, and how it was made. Whoever calls
 * this has asked a tool first whether the caller may see the crate at all; the index is asked once more here.
 */
import type { Caller } from '../../core/identity.ts';
import { collectBytes } from '../../platform/streams.ts';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import { formatBytes } from '../../platform/text/text.ts';
import type { Crates } from './crates.ts';
import type { CrateProvenance } from './provenance/provenance.ts';
import { inlinePictures } from './preview-pictures.ts';
import { hideFolders } from './tools/redact-folders.ts';

export { isActionType } from './provenance/provenance.ts';
export type { CrateProvenance, ProvenanceAction, ProvenanceThing } from './provenance/provenance.ts';

export interface CrateViews {
  /** The bytes of the crate's preview page; null where it has none. */
  readPreview(caller: Caller, crateId: string, signal: AbortSignal): Promise<Buffer | null>;
  readProvenance(caller: Caller, crateId: string, signal: AbortSignal): Promise<CrateProvenance>;
}

/** Where RO-Crate puts the page for people. */
export const previewPath = 'ro-crate-preview.html';
const maxPreviewBytes = 8 * 1024 ** 2;

export function createCrateViews(crates: Crates): CrateViews {
  return {
    readPreview: (caller, crateId, signal) =>
      hideFolders(crates, async () => {
        const size = await findPreviewSize(crates, caller, crateId, signal);
        if (size === null) return null;
        if (size > maxPreviewBytes) throw previewTooLargeError(size);
        const read = (path: string) => crates.inside.stream(caller, crateId, path, signal);
        const page = await collectBytes(read(previewPath), {
          limit: maxPreviewBytes,
          tooLong: () => previewTooLargeError(size),
        });
        return inlinePictures(page, read);
      }),
    readProvenance: (caller, crateId, signal) =>
      hideFolders(crates, () => crates.readProvenance(caller, crateId, signal)),
  };
}

async function findPreviewSize(
  { inside }: Crates,
  caller: Caller,
  crateId: string,
  signal: AbortSignal,
): Promise<number | null> {
  try {
    return (await inside.describe(caller, crateId, previewPath, signal)).size;
  } catch (error) {
    if (isWorkcrateError(error, 'not_found')) return null;
    throw error;
  }
}

const previewTooLargeError = (size: number): WorkcrateError =>
  new WorkcrateError(
    'too_large',
    `The preview page has ${formatBytes(size)}, and is shown up to ${formatBytes(maxPreviewBytes)}. Download the crate to see it.`,
  );
