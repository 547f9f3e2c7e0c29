/**
 * Pictures that runs made, for the pages that show them: bytes of raster pictures, told by these bytes, and SVG that runs
 * in no origin. Everything here was written by hostile code; what is too large for a browser is refused.
 */
import type { Artifacts } from '../artifacts/artifacts.ts';
import { WorkcrateError } from '../errors.ts';
import type { Execution, Executions } from '../executions/executions.ts';
import type { Files } from '../files/files.ts';
import { detectPictureType } from '../pictures.ts';
import { countPixels } from '../previews/picture-size.ts';
import { collectBytes } from '../streams.ts';
import type { Visitor } from './page-tools.ts';

export interface PictureSources {
  readonly executions: Pick<Executions, 'get'>;
  readonly files: Pick<Files, 'find' | 'open'>;
  readonly artifacts: Pick<Artifacts, 'use'>;
}

const maxBytes = 8 * 1024 ** 2;
const maxPixels = 50_000_000;

/** Of a picture in /artifacts, by its name. */
export const pictureName = /\.(?:png|jpe?g|gif|webp|svg)$/i;

/** The picture of a result of the visitor's run. */
export async function readResultPicture(
  { executions, files }: PictureSources,
  { caller }: Visitor,
  { id, result, part }: { readonly id: string; readonly result: number; readonly part: number },
): Promise<Response> {
  const { results }: Execution = await executions.get(caller, id);
  const fileId = results[result]?.parts[part]?.fileId ?? null;
  const file = fileId === null ? null : await files.find(caller, fileId);
  await using object = file && (await files.open(file));
  if (object === null) throw noPictureError();
  if (object.size > maxBytes) throw tooLargeError();
  return answerPicture(await collectBytes(object.read(0, object.size)));
}

/** A picture that a run left in /artifacts, as it is now. */
export const readArtifactPicture = (
  { artifacts }: PictureSources,
  { caller, signal }: Visitor,
  name: string,
): Promise<Response> =>
  artifacts.use(caller, { name, delivery: 'link', signal }, async (artifact) => {
    if (artifact.size > maxBytes) throw tooLargeError();
    return answerPicture(await collectBytes(artifact.bytes()));
  });

function answerPicture(bytes: Buffer): Response {
  const type = detectPictureType(bytes) ?? (isSvg(bytes) ? 'image/svg+xml' : null);
  if (type === null) throw noPictureError();
  if ((countPixels(bytes) ?? 0) > maxPixels) throw tooLargeError();
  return new Response(new Uint8Array(bytes), {
    headers: {
      'Content-Type': type,
      'Content-Security-Policy': "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
      'Cross-Origin-Resource-Policy': 'same-origin',
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'private, no-cache',
    },
  });
}

const isSvg = (bytes: Buffer): boolean =>
  /^\uFEFF?\s*(?:<\?xml\b|<!--|<!DOCTYPE svg\b|<svg\b)/i.test(bytes.toString('utf8', 0, 200));

const noPictureError = (): WorkcrateError =>
  new WorkcrateError('not_found', 'There is no picture here, or it is gone.');

const tooLargeError = (): WorkcrateError =>
  new WorkcrateError('too_large', 'This picture is too large to be shown here. Open its file.');
