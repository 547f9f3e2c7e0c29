import type { IncomingMessage, ServerResponse } from 'node:http';
import { isWorkcrateError, WorkcrateError } from '../errors.ts';
import type { StoredFile } from '../files/files.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { answerJson } from '../web/answer.ts';
import type { Delivery, Received } from './intake.ts';
import { requestBody } from './request-body.ts';
import { answerTus, lengthHeader, methodOf, speaksVersion, tusVersion } from './tus.ts';
import type { Uploads } from './uploads.ts';

export interface UploadRouteOptions {
  readonly uploads: Uploads;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly idleMs: number;
  readonly maxFileSize: number;
  /** The URL of an upload, for the Location of a tus creation. */
  readonly urlOf: (token: string) => string;
}

export type TakeBytes = (delivery: Pick<Delivery, 'offset' | 'fileLength'>) => Promise<Received>;

/** Answers `/uploads/{token}`: PUT for a file in one go, GET for how it stands, the rest is tus. */
export function createUploadRoute(options: UploadRouteOptions) {
  const { uploads, idleMs } = options;
  return async (req: IncomingMessage, res: ServerResponse, token: string): Promise<void> => {
    const bodyLength = lengthHeader(req, 'content-length');
    const bytes = () => requestBody(req, res, idleMs);
    const take: TakeBytes = (delivery) =>
      counted(options, uploads.write(token, { ...delivery, bodyLength, bytes }));
    // Set here, it stands on errors too.
    res.setHeader('Tus-Resumable', tusVersion);
    if (!speaksVersion(req, res)) return;
    switch (methodOf(req)) {
      case 'PUT':
        return await put(req, res, take);
      case 'GET':
        return await tell(uploads, res, token);
      default:
        return await answerTus({ ...options, req, res, token, take });
    }
  };
}

async function put(req: IncomingMessage, res: ServerResponse, take: TakeBytes): Promise<void> {
  if (req.headers['content-range'] !== undefined)
    throw new WorkcrateError(
      'invalid_input',
      'PUT sends the whole file. To send a part of it, use PATCH with Upload-Offset.',
    );
  const { file } = await take({ offset: null, fileLength: lengthHeader(req, 'content-length') });
  if (!file) throw new WorkcrateError('internal', 'A whole upload made no file.');
  answerJson(res, 201, receipt(file));
}

/** What a sender needs to know of the file that its bytes became. */
function receipt(file: StoredFile) {
  return { file_id: file.id, filename: file.name, size: file.size, sha256: file.sha256 };
}

/** For a sender whose connection was lost together with the answer. */
async function tell(uploads: Uploads, res: ServerResponse, token: string): Promise<void> {
  const { upload, offset } = await uploads.standing(token);
  const file = await uploads.file(upload);
  answerJson(res, 200, {
    state: upload.fileId === null ? 'open' : 'complete',
    offset,
    size: upload.declaredSize,
    expiresAt: new Date(upload.expiresAt).toISOString(),
    ...(file ? { file: receipt(file) } : {}),
  });
}

async function counted({ metrics, log }: UploadRouteOptions, work: Promise<Received>): Promise<Received> {
  metrics.transfers.in++;
  try {
    const received = await work;
    metrics.uploads.inc({ result: received.file ? 'complete' : 'partial' });
    if (received.file) {
      metrics.uploadBytes.inc(received.file.size);
      log.info('upload.complete', {
        file: received.file.id,
        size: received.file.size,
        user: received.file.owner,
      });
    }
    return received;
  } catch (error) {
    metrics.uploads.inc({ result: isWorkcrateError(error, 'upload_incomplete') ? 'broken' : 'refused' });
    throw error;
  } finally {
    metrics.transfers.in--;
  }
}
