/**
 * Pictures that runs made, for the pages that show them: bytes of raster pictures, told by these bytes, and SVG that runs
 * in no origin. Everything here was written by hostile code; what is too large for a browser is refused.
 */
import { createHash } from 'node:crypto';
import type { Artifacts } from '../../core/artifacts/artifacts.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Execution, Executions } from '../../core/runs/executions.ts';
import type { KeptReader, ReadResult, ResultFile } from '../../features/provenance/provenance.ts';
import type { Files } from '../../core/files/files.ts';
import { detectPictureType } from '../../platform/pictures.ts';
import { countPixels } from '../../platform/previews/picture-size.ts';
import { collectBytes } from '../../platform/streams.ts';
import type { Visitor } from './routing.ts';

export interface PictureSources {
  readonly executions: Pick<Executions, 'get'>;
  readonly keptResults: Pick<KeptReader, 'findResult'>;
  readonly files: Pick<Files, 'find' | 'open'>;
  readonly artifacts: Pick<Artifacts, 'use'>;
}

const maxBytes = 8 * 1024 ** 2;
const maxPixels = 50_000_000;

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

/** A picture that the visitor's run left in /artifacts, as it was then: as kept, or of a file that is still the same. */
export async function readMadePicture(
  sources: PictureSources,
  visitor: Visitor,
  { id, name }: { readonly id: string; readonly name: string },
): Promise<Response> {
  const { caller, signal } = visitor;
  const made = await findMadeFile(sources, visitor, { id, path: `/artifacts/${name}` });
  if (made.file.size > maxBytes) throw tooLargeError();
  const kept = made.read && (await collectBytes(made.read(signal)));
  if (kept !== null && isAsRecorded(kept, made.file)) return answerPicture(kept);
  return sources.artifacts.use(caller, { name, delivery: 'link', signal }, async (artifact) => {
    if (artifact.size !== made.file.size) throw changedError();
    const now = await collectBytes(artifact.bytes());
    if (!isAsRecorded(now, made.file)) throw changedError();
    return answerPicture(now);
  });
}

const isAsRecorded = (bytes: Buffer, { sha256 }: ResultFile): boolean =>
  createHash('sha256').update(bytes).digest('hex') === sha256;

/** What the record has of a file that the visitor's run made, and its kept bytes, if there are any. */
export async function findMadeFile(
  { executions, keptResults }: Pick<PictureSources, 'executions' | 'keptResults'>,
  { caller }: Visitor,
  { id, path }: { readonly id: string; readonly path: string },
): Promise<{ readonly file: ResultFile; readonly read: ReadResult | null }> {
  const { resultFiles } = await executions.get(caller, id);
  const file = resultFiles?.files.find((one) => one.path === path);
  if (file === undefined || file.sha256 === null) throw notHashedError();
  return { file, read: await keptResults.findResult(caller, id, file) };
}

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

const notHashedError = (): WorkcrateError =>
  new WorkcrateError(
    'not_found',
    'Nobody hashed this file when its run ended, so nothing can be shown as what the run made.',
  );

export const changedError = (): WorkcrateError =>
  new WorkcrateError(
    'bytes_gone',
    'This file was changed after the run, and its bytes as the run left them are not kept any more.',
  );

const tooLargeError = (): WorkcrateError =>
  new WorkcrateError('too_large', 'This picture is too large to be shown here. Open its file.');
