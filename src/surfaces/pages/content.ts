/**
 * The bytes of a stored file or an artifact for its owner alone, to be shown by a page or saved. No link is made or used.
 * What a browser could run has the headers of the previews of links: no scripts, no origin, and a frame of ours alone.
 */
import type { ServerResponse } from 'node:http';
import type { Context } from 'hono';
import { streamArtifactBytes } from '../../core/artifacts/route.ts';
import type { Artifacts } from '../../core/artifacts/artifacts.ts';
import { guessMediaType } from '../../core/files/files.ts';
import type { Caller } from '../../core/identity.ts';
import { planDownload } from '../../core/links/download-response.ts';
import { toPreviewHeaders } from '../../core/links/link-page.ts';
import { readSegments, type Download } from '../../core/links/links.ts';

/** Whether it is asked for to be saved, and not to be shown. */
const isSaved = ({ req }: Context): boolean => req.query('download') !== undefined;

type HeaderFields = Readonly<Record<string, string | number>>;

export const toHeaderInit = (headers: HeaderFields): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

/** A film is fetched by ranges, as everywhere. */
export async function answerFileContent(context: Context, download: Download): Promise<Response> {
  const range = context.req.header('range');
  const plan = planDownload(range === undefined ? {} : { range }, download);
  const headers = isSaved(context) ? plan.headers : toPreviewHeaders(plan.headers, download);
  // Missing bytes are told before anything is promised.
  await download.demandStored?.();
  return new Response(ReadableStream.from(readPlanned(plan, download)), {
    status: plan.status,
    headers: toHeaderInit(headers),
  });
}

/** Opened with the first read: a body that is never asked for opens nothing. */
async function* readPlanned(
  plan: ReturnType<typeof planDownload>,
  download: Download,
): AsyncGenerator<Uint8Array, void> {
  const opened = await download.open();
  try {
    // Copied, since sources use their memory again.
    for await (const piece of readSegments(plan.body(opened))) yield Uint8Array.from(piece);
  } finally {
    await opened.close();
  }
}

export interface ArtifactContent {
  readonly artifacts: Pick<Artifacts, 'use'>;
  readonly caller: Caller;
  readonly name: string;
}

/** An artifact may change at any time, so that no cache keeps it and no range is given. */
export function answerArtifactContent(context: Context, wanted: ArtifactContent): Promise<Response> {
  const { outgoing = null } = (context.env ?? {}) as { outgoing?: ServerResponse };
  return streamArtifactBytes({ ...wanted, connection: outgoing }, ({ name, size }) => {
    const download = {
      ...describeArtifact(name, size),
      sha256: null,
      modified: 0,
      storageKey: null,
      open: neverOpened,
    };
    const { headers } = planDownload({}, download);
    const {
      ETag: _etag,
      'Last-Modified': _modified,
      'Accept-Ranges': _ranges,
      ...others
    } = isSaved(context) ? headers : toPreviewHeaders(headers, download);
    return toHeaderInit({ ...others, 'Cache-Control': 'no-store' });
  });
}

export const describeArtifact = (filename: string, size: number) => ({
  filename,
  size,
  mediaType: guessMediaType(filename),
});

export const neverOpened = (): never => {
  throw new Error('What runs made is read where it is, and not opened as a download.');
};
