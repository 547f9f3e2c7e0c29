import type { IncomingMessage, ServerResponse } from 'node:http';
import { isWorkcrateError, WorkcrateError } from '../errors.ts';
import type { StoredFile } from '../files/files.ts';
import { answerJson } from '../web/answer.ts';
import type { Upload } from './upload.ts';
import type { TakeBytes, UploadRouteOptions } from './upload-route.ts';

/**
 * The tus protocol (1.0.0) on an upload link. The link itself is the tus resource: the right to make one was
 * given out by request_upload, so creation by POST only answers where it is. By hand, since the library
 * keeps its own ids, store and locks, where here the token, the storage port and the lease are these.
 */
export const tusVersion = '1.0.0';

const offsetType = 'application/offset+octet-stream';

interface TusExchange extends UploadRouteOptions {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly token: string;
  readonly take: TakeBytes;
}

/** One handler for each method of the protocol. */
export async function answerTus(exchange: TusExchange): Promise<void> {
  switch (methodOf(exchange.req)) {
    case 'OPTIONS':
      return options(exchange);
    case 'HEAD':
      return head(exchange);
    case 'POST':
      return create(exchange);
    case 'PATCH':
      return patch(exchange);
    case 'DELETE':
      return terminate(exchange);
    default:
      throw new WorkcrateError(
        'method_not_allowed',
        'Uploads take PUT, or HEAD, POST, PATCH and DELETE of tus.',
      );
  }
}

/** Answers a client that speaks another version. One that names none may be curl and knows what it does. */
export function speaksVersion(req: IncomingMessage, res: ServerResponse): boolean {
  const asked = req.headers['tus-resumable'];
  if (asked === undefined || asked === tusVersion || req.method === 'OPTIONS') return true;
  const error = `This server supports only tus ${tusVersion}. Use a client of that version, or PUT.`;
  answerJson(res, 412, { error, code: 'unsupported' }, { 'Tus-Version': tusVersion });
  return false;
}

/** Clients behind proxies that know no PATCH say it in a header. */
export function methodOf(req: IncomingMessage): string {
  const override = req.method === 'POST' ? req.headers['x-http-method-override'] : undefined;
  return typeof override === 'string' ? override.toUpperCase() : (req.method ?? '');
}

function options({ res, maxFileSize }: TusExchange): void {
  answer(res, 204, {
    'Tus-Version': tusVersion,
    'Tus-Extension': 'creation,creation-defer-length,expiration,termination',
    'Tus-Max-Size': maxFileSize,
  });
}

async function head({ uploads, res, token }: TusExchange): Promise<void> {
  const { upload, offset } = await uploads.standing(token);
  const length = upload.declaredSize;
  answer(res, 200, {
    'Upload-Offset': offset,
    ...(length === null ? { 'Upload-Defer-Length': 1 } : { 'Upload-Length': length }),
    ...expiry(upload),
    ...(upload.fileId === null ? {} : { 'Workcrate-File-Id': upload.fileId }),
  });
}

async function create({ uploads, req, res, token, urlOf }: TusExchange): Promise<void> {
  const length = lengthHeader(req, 'upload-length');
  const deferred = req.headers['upload-defer-length'];
  if (length === null ? deferred !== '1' : deferred !== undefined)
    throw new WorkcrateError(
      'invalid_input',
      'POST needs either Upload-Length or Upload-Defer-Length: 1. To send a whole file at once, use PUT.',
    );
  const { file } = await uploads.begin(token, length);
  answer(res, 201, { Location: urlOf(token), ...expiry(await uploads.find(token)), ...receiptHeaders(file) });
}

async function patch({ uploads, req, res, token, take }: TusExchange): Promise<void> {
  if (req.headers['content-type'] !== offsetType) {
    const error = `PATCH needs Content-Type: ${offsetType}.`;
    return answerJson(res, 415, { error, code: 'unsupported' });
  }
  const offset = lengthHeader(req, 'upload-offset');
  if (offset === null)
    throw new WorkcrateError('invalid_input', 'PATCH needs Upload-Offset: where its bytes begin.');
  const { expiresAt } = await uploads.find(token);
  try {
    const { size, file } = await take({ offset, fileLength: lengthHeader(req, 'upload-length') });
    answer(res, 204, { 'Upload-Offset': size, ...expiry({ expiresAt }), ...receiptHeaders(file) });
  } catch (error) {
    if (isWorkcrateError(error, 'offset_conflict')) res.setHeader('Upload-Offset', error.details['offset']!);
    throw error;
  }
}

async function terminate({ uploads, res, token }: TusExchange): Promise<void> {
  await uploads.withdraw(token);
  answer(res, 204, {});
}

function expiry({ expiresAt }: Pick<Upload, 'expiresAt'>): Record<string, string> {
  return { 'Upload-Expires': new Date(expiresAt).toUTCString() };
}

function receiptHeaders(file: StoredFile | null): Record<string, string> {
  return file ? { 'Workcrate-File-Id': file.id, 'Workcrate-Sha256': file.sha256 } : {};
}

export function lengthHeader(req: IncomingMessage, name: string): number | null {
  const value = req.headers[name];
  if (value === undefined) return null;
  if (typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value);
  throw new WorkcrateError('invalid_input', `${name} must be a whole number.`);
}

function answer(res: ServerResponse, status: number, headers: Record<string, string | number>): void {
  res.writeHead(status, {
    'Cache-Control': 'no-store',
    ...(status === 204 ? {} : { 'Content-Length': 0 }),
    ...headers,
  });
  res.end();
}
