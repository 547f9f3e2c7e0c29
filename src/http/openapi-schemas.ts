import { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import { errorStatus } from './answer.ts';

export type Json = { readonly [key: string]: unknown };

/** A schema as OpenAPI 3.1 takes it: JSON Schema of 2020-12, without saying so each time. */
export function jsonSchema(shape: z.ZodType, io: 'input' | 'output' = 'output'): Json {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(shape, { io });
  return schema;
}

const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

export function json(name: string, description: string, headers: Json = {}): Json {
  return {
    description,
    headers: { ...requestId, ...headers },
    content: { 'application/json': { schema: ref(name) } },
  };
}

export const bodiless = (description: string, headers: Json = {}): Json => ({
  description,
  headers: { ...requestId, ...headers },
});

export const text = (description: string): Json => ({
  ...bodiless(description),
  content: { 'text/plain': { schema: { type: 'string' } } },
});

const header = (description: string, type = 'string', required = true): Json => ({
  description,
  required,
  schema: { type },
});

const requestId = {
  'X-Request-Id': header('As it was sent, or a new one; it is in the log', 'string', false),
};

/** Before any route: Host and Origin, and whatever fails in the server itself. */
const everywhere: ErrorCode[] = ['host_refused', 'origin_refused', 'internal', 'database_failed'];

/** The answers for error codes, by the status that each has. */
export function failures(codes: readonly ErrorCode[], shape = 'Error'): Json {
  const byStatus = Map.groupBy([...codes, ...everywhere], (code) => errorStatus[code]);
  const answers = [...byStatus].map(([status, group]) => [status, json(shape, group.join(', '))]);
  return Object.fromEntries(answers) as Json;
}

/** With auth on, these need a key or token; without, nothing. */
export const signedIn = { security: [{}, { bearer: [] }] };
export const signInFailures = ['unauthorized', 'forbidden', 'too_many_requests'] as const;

/** A right by itself, or nothing that needs one. */
export const open = { security: [] };

export const parameter = (place: 'path' | 'query' | 'header', name: string, more: Json): Json => ({
  name,
  in: place,
  required: place === 'path',
  schema: { type: 'string' },
  ...more,
});

/** Codes that routes answer without an error of that name behind it. */
const otherCodes = ['issuer_unavailable'];

/** What every error is, but those of artifacts, whose shape the specification gives. */
const error = z
  .looseObject({
    error: z.string().describe('What went wrong and what to do, for people'),
    code: z.enum([...Object.keys(errorStatus), ...otherCodes]).describe('The same, for programs'),
  })
  .describe('Some errors have further fields, such as the offset that the server holds');

const artifactError = z.looseObject({ error: z.string() });

const receipt = z.object({
  file_id: z.string(),
  filename: z.string(),
  size: z.number().int(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

const uploadStanding = z.object({
  state: z.enum(['open', 'complete']),
  offset: z.number().int().describe('How many bytes the server holds'),
  size: z.number().int().nullable().describe('How many there will be, where that was announced'),
  expiresAt: z.iso.datetime(),
  file: receipt.optional(),
});

const artifactList = z.object({ artifacts: z.array(z.string()), count: z.number().int() });

const artifact = z.object({
  artifact_id: z.string(),
  data: z.base64(),
  encoding: z.literal('base64'),
});

const resource = z.looseObject({
  resource: z.string(),
  authorization_servers: z.array(z.string()),
  scopes_supported: z.array(z.string()),
  bearer_methods_supported: z.array(z.string()),
});

/** Answers whose shape no room has as a schema. A test holds real ones against them. */
export const ownShapes = {
  Error: error,
  ArtifactError: artifactError,
  UploadReceipt: receipt,
  UploadStanding: uploadStanding,
  ArtifactList: artifactList,
  Artifact: artifact,
  ProtectedResource: resource,
};

const token = parameter('path', 'token', {
  description: 'The token of a link: it is the right itself',
  schema: { type: 'string' },
});

const bytes = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };

const fileHeaders = {
  ETag: header('The sha256 of the content in quotes, or v- and a version where that is not known'),
  'Accept-Ranges': header('bytes'),
};

/** Any type: a file keeps the one that it was given. */
const content = { '*/*': { schema: { type: 'string', format: 'binary' } } };

const range = parameter('header', 'Range', { description: 'One or several ranges of bytes (RFC 9110)' });

function download(method: 'get' | 'head'): Json {
  const body = method === 'get' ? { content } : {};
  return {
    ...open,
    summary:
      method === 'get'
        ? 'Fetch a file, a bundle or something of a crate by link'
        : 'See what a link would give, and use nothing up',
    operationId: `${method}File`,
    parameters: method === 'get' ? [range] : [],
    responses: {
      200: { ...bodiless('All of it', fileHeaders), ...body },
      ...(method === 'get' ? { 206: { ...bodiless('The ranges asked for', fileHeaders), content } } : {}),
      302: bodiless('The object store has the bytes (--downloads redirect)', { Location: header('Where') }),
      304: bodiless('It is what the client has'),
      412: bodiless('It is not what the client takes it for'),
      416: bodiless('No such range'),
      ...failures([
        'link_not_found',
        'link_busy',
        'bytes_gone',
        'source_unreachable',
        'zip_damaged',
        'too_many_requests',
        'method_not_allowed',
      ]),
    },
  };
}

export const filePaths: Json = {
  '/files/{token}': { parameters: [token], get: download('get'), head: download('head') },
};

const tusVersion = { 'Tus-Resumable': header('1.0.0') };
const expiry = { 'Upload-Expires': header('When the upload must be complete') };
const offset = { 'Upload-Offset': header('How many bytes the server holds', 'integer') };

const tusParameter = parameter('header', 'Tus-Resumable', { description: '1.0.0, where tus is spoken' });

const unsupportedVersion = json('Error', 'Another version of tus', { 'Tus-Version': header('1.0.0') });

const arriving = [
  'upload_not_found',
  'upload_used',
  'upload_busy',
  'upload_incomplete',
  'too_large',
  'size_mismatch',
  'hash_mismatch',
  'quota_exceeded',
  'storage_full',
  'storage_failed',
  'storage_read_only',
  'stalled',
  'invalid_input',
  'too_many_requests',
] as const;

function sending(operationId: string, summary: string, more: Json): Json {
  return { ...open, operationId, summary, ...more };
}

const put = sending('putUpload', 'Send a file in one go', {
  requestBody: { required: true, content: bytes },
  responses: { 201: json('UploadReceipt', 'The file is kept', tusVersion), ...failures(arriving) },
});

const get = sending('getUpload', 'Get the state of an upload', {
  responses: {
    200: json('UploadStanding', 'How it stands', tusVersion),
    ...failures(['upload_not_found', 'too_many_requests']),
  },
});

const head = sending('headUpload', 'tus: ask for the offset', {
  responses: {
    200: bodiless('The offset', { ...tusVersion, ...offset, ...expiry }),
    ...failures(['upload_not_found', 'too_many_requests']),
  },
});

const post = sending('createUpload', 'tus: creation, which answers where the upload already is', {
  parameters: [
    parameter('header', 'Upload-Length', { schema: { type: 'integer' } }),
    parameter('header', 'Upload-Defer-Length', { schema: { const: '1' } }),
  ],
  responses: {
    201: bodiless('Where to send to', { ...tusVersion, ...expiry, Location: header('The same URL') }),
    ...failures([...arriving, 'offset_conflict']),
  },
});

const patch = sending('patchUpload', 'tus: send bytes from an offset on', {
  parameters: [
    parameter('header', 'Upload-Offset', { required: true, schema: { type: 'integer' } }),
    parameter('header', 'Upload-Length', { schema: { type: 'integer' } }),
  ],
  requestBody: {
    required: true,
    content: { 'application/offset+octet-stream': { schema: { type: 'string', format: 'binary' } } },
  },
  responses: {
    204: bodiless('Held; with Workcrate-File-Id and Workcrate-Sha256 where the file is whole', {
      ...tusVersion,
      ...offset,
      ...expiry,
      'Workcrate-File-Id': header('The file that it became', 'string', false),
    }),
    412: unsupportedVersion,
    415: json('Error', 'Content-Type is not application/offset+octet-stream'),
    ...failures([...arriving, 'offset_conflict']),
  },
});

const remove = sending('deleteUpload', 'tus: withdraw', {
  responses: {
    204: bodiless('Withdrawn', tusVersion),
    ...failures(['upload_not_found', 'upload_used', 'upload_busy']),
  },
});

const options = sending('optionsUpload', 'tus: what the server can do', {
  responses: {
    204: bodiless('Its version and extensions', {
      ...tusVersion,
      'Tus-Version': header('1.0.0'),
      'Tus-Extension': header('With commas between'),
      'Tus-Max-Size': header('The largest file taken', 'integer'),
    }),
    ...failures(['too_many_requests', 'method_not_allowed']),
  },
});

export const uploadPaths: Json = {
  '/uploads/{token}': {
    parameters: [token, tusParameter],
    put,
    get,
    head,
    post,
    patch,
    delete: remove,
    options,
  },
};
