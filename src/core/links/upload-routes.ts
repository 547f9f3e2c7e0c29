/**
 * Answers `/uploads/{token}`: PUT for a whole file, GET for the state of the upload, a form of a browser, and the tus
 * protocol to resume. It reads headers and writes answers; `uploads.ts` decides who may write, and `receive.ts` takes the bytes.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { asWorkcrateError, isWorkcrateError, publicMessage, WorkcrateError } from '../../platform/errors.ts';
import type { StoredFile } from '../files/files.ts';
import { isOpenedInBrowser } from '../../platform/html/response.ts';
import { answerJson, getErrorStatus } from '../../platform/http/answer.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import { readBoundary, readFormFiles, type FormFile } from './form-files.ts';
import { readBodyWithTimeout, type Delivery, type ReceivedBytes } from './receive.ts';
import { answerRefusedForm, answerUploadPage, isComplete } from './upload-page.ts';
import type { Upload } from './upload.ts';
import type { Uploads } from './uploads.ts';

export interface UploadRouteOptions {
  readonly uploads: Uploads;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly idleMs: number;
  readonly maxFileSize: number;
  /** The URL of an upload, for the Location of a tus creation. */
  readonly getUrl: (token: string) => string;
}

export type TakeBytes = (delivery: Pick<Delivery, 'offset' | 'fileLength'>) => Promise<ReceivedBytes>;

/** Answers `/uploads/{token}`: PUT sends a whole file, GET shows the state, the rest is tus. */
export function createUploadRoute(options: UploadRouteOptions) {
  const { uploads, idleMs } = options;
  return async (req: IncomingMessage, res: ServerResponse, token: string): Promise<void> => {
    const bodyLength = readLengthHeader(req, 'content-length');
    const bytes = () => readBodyWithTimeout(req, res, idleMs);
    const take: TakeBytes = (delivery) =>
      countTransfer(options, uploads.write(token, { ...delivery, bodyLength, bytes }));
    // Set here, so that errors have it too.
    res.setHeader('Tus-Resumable', supportedTusVersion);
    if (!checkTusVersion(req, res)) return;
    switch (getTusMethod(req)) {
      case 'PUT':
        return await answerPut(req, res, take);
      case 'GET':
        return await answerUploadState(options, req, res, token);
      case 'POST':
        if (readBoundary(req.headers['content-type']) !== null)
          return await answerForm(options, { req, res, token, bytes: bytes() });
        return await answerTusCreate({ ...options, req, res, token, take });
      default:
        return await answerTus({ ...options, req, res, token, take });
    }
  };
}

async function answerPut(req: IncomingMessage, res: ServerResponse, take: TakeBytes): Promise<void> {
  if (req.headers['content-range'] !== undefined)
    throw new WorkcrateError(
      'invalid_input',
      'PUT sends the whole file. To send a part of it, use PATCH with Upload-Offset.',
    );
  const { file } = await take({ offset: null, fileLength: readLengthHeader(req, 'content-length') });
  if (!file) throw new WorkcrateError('internal', 'A whole upload made no file.');
  answerJson(res, 201, toReceipt(file));
}

/** What a sender needs to know about the stored file. */
function toReceipt(file: StoredFile) {
  return { file_id: file.id, filename: file.name, size: file.size, sha256: file.sha256 };
}

/** For a sender whose connection was lost together with the answer, and for people, who get a form. */
async function answerUploadState(
  { uploads, maxFileSize }: UploadRouteOptions,
  req: IncomingMessage,
  res: ServerResponse,
  token: string,
): Promise<void> {
  const { upload, offset } = await uploads.readState(token);
  const file = await uploads.file(upload);
  const files = upload.filesLeft === null ? (file ? [file] : []) : await uploads.listBatch(upload);
  if (isOpenedInBrowser(req)) return answerUploadPage(res, { upload, offset, files, maxFileSize });
  const { filesLeft } = upload;
  answerJson(res, 200, {
    state: isComplete(upload) ? 'complete' : 'open',
    ...(filesLeft === null
      ? { offset, size: upload.declaredSize }
      : { filesLeft, files: files.map(toReceipt) }),
    expiresAt: new Date(upload.expiresAt).toISOString(),
    ...(file ? { file: toReceipt(file) } : {}),
  });
}

interface SentForm {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly token: string;
  readonly bytes: AsyncGenerator<Uint8Array>;
}

/** Takes the files of a form that a browser without scripts sends, and then shows the state. */
async function answerForm(options: UploadRouteOptions, { req, res, token, bytes }: SentForm): Promise<void> {
  try {
    const boundary = readBoundary(req.headers['content-type'])!;
    let count = 0;
    for await (const file of readFormFiles(bytes, boundary)) {
      await takeFormFile(options, token, file);
      count++;
    }
    if (count === 0) throw new WorkcrateError('invalid_input', 'Choose a file first.');
    answerEmpty(res, 303, { Location: new URL(options.getUrl(token)).pathname });
  } catch (cause) {
    const error = asWorkcrateError(cause);
    // An unknown token is answered, counted and noted as everywhere.
    if (error.code === 'upload_not_found') throw error;
    await answerRefusedForm(res, getErrorStatus(error), publicMessage(error));
  } finally {
    // What is left of the body is not wanted: the listener then discards it, so that the answer can be read.
    void bytes.return(undefined);
  }
}

/** A file of a batch that fails cannot be resumed by a form, so that its place is given back. */
async function takeFormFile(
  options: UploadRouteOptions,
  token: string,
  { filename, bytes }: FormFile,
): Promise<void> {
  const { uploads } = options;
  const { filesLeft } = await uploads.find(token);
  const place =
    filesLeft === null ? token : (await uploads.addToBatch(token, { filename, size: null })).token;
  const delivery = { offset: null, fileLength: null, bodyLength: null, bytes: () => bytes };
  try {
    await countTransfer(options, uploads.write(place, delivery));
  } catch (error) {
    if (place !== token) await uploads.withdraw(place);
    throw error;
  }
}

async function countTransfer(
  { metrics, log }: UploadRouteOptions,
  work: Promise<ReceivedBytes>,
): Promise<ReceivedBytes> {
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

/**
 * The tus protocol (1.0.0) on an upload link. The link itself is the tus resource: request_upload has created it, so
 * POST only answers where it is, unless it is a batch, which makes a resource for each file. By hand, since the library has its own ids, store and locks, while ours are the token,
 * the storage port and the lease.
 */
const supportedTusVersion = '1.0.0';

const offsetType = 'application/offset+octet-stream';

interface TusExchange extends UploadRouteOptions {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly token: string;
  readonly take: TakeBytes;
}

/** One handler for each method of the protocol. */
async function answerTus(exchange: TusExchange): Promise<void> {
  switch (getTusMethod(exchange.req)) {
    case 'OPTIONS':
      return answerTusOptions(exchange);
    case 'HEAD':
      return answerTusHead(exchange);
    case 'PATCH':
      return answerTusPatch(exchange);
    case 'DELETE':
      return answerTusTerminate(exchange);
    default:
      throw new WorkcrateError(
        'method_not_allowed',
        'Uploads take PUT, or HEAD, POST, PATCH and DELETE of tus.',
      );
  }
}

/** Answers a client of another version. One that names no version may be curl. */
function checkTusVersion(req: IncomingMessage, res: ServerResponse): boolean {
  const asked = req.headers['tus-resumable'];
  if (asked === undefined || asked === supportedTusVersion || req.method === 'OPTIONS') return true;
  const error = `This server supports only tus ${supportedTusVersion}. Use a client of that version, or PUT.`;
  answerJson(res, 412, { error, code: 'unsupported' }, { 'Tus-Version': supportedTusVersion });
  return false;
}

/** Clients behind proxies that refuse PATCH send the method in a header. */
function getTusMethod(req: IncomingMessage): string {
  const override = req.method === 'POST' ? req.headers['x-http-method-override'] : undefined;
  return typeof override === 'string' ? override.toUpperCase() : (req.method ?? '');
}

function answerTusOptions({ res, maxFileSize }: TusExchange): void {
  answerEmpty(res, 204, {
    'Tus-Version': supportedTusVersion,
    'Tus-Extension': 'creation,creation-defer-length,expiration,termination',
    'Tus-Max-Size': maxFileSize,
  });
}

async function answerTusHead({ uploads, res, token }: TusExchange): Promise<void> {
  const { upload, offset } = await uploads.readState(token);
  const length = upload.declaredSize;
  answerEmpty(res, 200, {
    'Upload-Offset': offset,
    ...(length === null ? { 'Upload-Defer-Length': 1 } : { 'Upload-Length': length }),
    ...toExpiryHeader(upload),
    ...(upload.fileId === null ? {} : { 'Workcrate-File-Id': upload.fileId }),
  });
}

async function answerTusCreate({ uploads, req, res, token, getUrl }: TusExchange): Promise<void> {
  const length = readLengthHeader(req, 'upload-length');
  const deferred = req.headers['upload-defer-length'];
  if (length === null ? deferred !== '1' : deferred !== undefined)
    throw new WorkcrateError(
      'invalid_input',
      'POST needs either Upload-Length or Upload-Defer-Length: 1. To send a whole file at once, use PUT.',
    );
  const { filesLeft } = await uploads.find(token);
  const place =
    filesLeft === null
      ? token
      : (await uploads.addToBatch(token, { filename: readMetadataName(req), size: length })).token;
  const { file } = await uploads.begin(place, length);
  answerEmpty(res, 201, {
    Location: getUrl(place),
    ...toExpiryHeader(await uploads.find(place)),
    ...toReceiptHeaders(file),
  });
}

/** The name in `Upload-Metadata: filename dGV4dA==,other …`. */
function readMetadataName({ headers }: IncomingMessage): string {
  const [, name = ''] =
    /(?:^|,)\s*filename ([A-Za-z0-9+/]+=*)\s*(?:,|$)/.exec(String(headers['upload-metadata'] ?? '')) ?? [];
  const filename = Buffer.from(name, 'base64').toString();
  if (filename !== '' && filename.length <= maxUploadNameLength) return filename;
  throw new WorkcrateError(
    'invalid_input',
    'POST needs Upload-Metadata with the name of the file: filename, a space, and the name in base64.',
  );
}

const maxUploadNameLength = 4096;

async function answerTusPatch({ uploads, req, res, token, take }: TusExchange): Promise<void> {
  if (req.headers['content-type'] !== offsetType) {
    const error = `PATCH needs Content-Type: ${offsetType}.`;
    return answerJson(res, 415, { error, code: 'unsupported' });
  }
  const offset = readLengthHeader(req, 'upload-offset');
  if (offset === null)
    throw new WorkcrateError('invalid_input', 'PATCH needs Upload-Offset: where its bytes begin.');
  const { expiresAt } = await uploads.find(token);
  try {
    const { size, file } = await take({ offset, fileLength: readLengthHeader(req, 'upload-length') });
    answerEmpty(res, 204, {
      'Upload-Offset': size,
      ...toExpiryHeader({ expiresAt }),
      ...toReceiptHeaders(file),
    });
  } catch (error) {
    if (isWorkcrateError(error, 'offset_conflict')) res.setHeader('Upload-Offset', error.details['offset']!);
    throw error;
  }
}

async function answerTusTerminate({ uploads, res, token }: TusExchange): Promise<void> {
  await uploads.withdraw(token);
  answerEmpty(res, 204, {});
}

function toExpiryHeader({ expiresAt }: Pick<Upload, 'expiresAt'>): Record<string, string> {
  return { 'Upload-Expires': new Date(expiresAt).toUTCString() };
}

function toReceiptHeaders(file: StoredFile | null): Record<string, string> {
  return file ? { 'Workcrate-File-Id': file.id, 'Workcrate-Sha256': file.sha256 } : {};
}

function readLengthHeader(req: IncomingMessage, name: string): number | null {
  const value = req.headers[name];
  if (value === undefined) return null;
  if (typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value);
  throw new WorkcrateError('invalid_input', `${name} must be a whole number.`);
}

function answerEmpty(res: ServerResponse, status: number, headers: Record<string, string | number>): void {
  res.writeHead(status, {
    'Cache-Control': 'no-store',
    ...(status === 204 ? {} : { 'Content-Length': 0 }),
    ...headers,
  });
  res.end();
}
