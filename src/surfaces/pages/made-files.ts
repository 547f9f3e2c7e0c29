/**
 * The kept bytes of a file that a run made, for its owner to save. They are never shown here: hostile code wrote them.
 * What has the same name now is in the library.
 */
import type { NoteRequest } from '../../core/audit/audit.ts';
import { computeDigest } from '../../core/files/files.ts';
import { planDownload } from '../../core/links/download-response.ts';
import { describeArtifact, neverOpened, toHeaderInit } from './content.ts';
import type { Visitor } from './routing.ts';
import { changedError, findMadeFile, type PictureSources } from './pictures.ts';

export interface MadeFileSources extends PictureSources {
  /** Writes a line of the audit log for what no tool does. */
  readonly noted: NoteRequest;
}

/** Read once for the hash before anything is promised, and once more to be sent. */
export function answerMadeFile(
  sources: MadeFileSources,
  visitor: Visitor,
  wanted: { readonly id: string; readonly path: string },
): Promise<Response> {
  const { caller, signal } = visitor;
  const subject = `${wanted.id} ${wanted.path}`;
  return sources.noted({ operation: 'get_artifact', user: caller.user, subject }, async (tell) => {
    const { file, read } = await findMadeFile(sources, visitor, wanted);
    if (read === null || (await computeDigest(read(signal))).sha256 !== file.sha256) throw changedError();
    const { size, sha256 } = file;
    tell({ size, page: true });
    const download = {
      ...describeArtifact(file.path.slice(file.path.lastIndexOf('/') + 1), size),
      sha256,
      modified: 0,
      storageKey: null,
      open: neverOpened,
    };
    const {
      'Last-Modified': _modified,
      'Accept-Ranges': _ranges,
      ...headers
    } = planDownload({}, download).headers;
    return new Response(ReadableStream.from(read(signal)), {
      headers: toHeaderInit({ ...headers, 'Cache-Control': 'no-store' }),
    });
  });
}
