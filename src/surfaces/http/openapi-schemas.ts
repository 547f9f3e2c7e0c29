import { z } from 'zod';
import type { ErrorCode } from '../../platform/errors.ts';
import { errorStatus } from '../../platform/http/answer.ts';

export type Json = { readonly [key: string]: unknown };

/** A schema as OpenAPI 3.1 takes it: JSON Schema of 2020-12, without saying so each time. */
export function jsonSchema(shape: z.ZodType, io: 'input' | 'output' = 'output'): Json {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(shape, { io });
  return schema;
}

const toSchemaRef = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

export function jsonAnswer(name: string, description: string, headers: Json = {}): Json {
  return {
    description,
    headers: { ...requestId, ...headers },
    content: { 'application/json': { schema: toSchemaRef(name) } },
  };
}

export const bodilessAnswer = (description: string, headers: Json = {}): Json => ({
  description,
  headers: { ...requestId, ...headers },
});

export const textAnswer = (description: string): Json => ({
  ...bodilessAnswer(description),
  content: { 'text/plain': { schema: { type: 'string' } } },
});

const describeHeader = (description: string, type = 'string', required = true): Json => ({
  description,
  required,
  schema: { type },
});

const requestId = {
  'X-Request-Id': describeHeader('As it was sent, or a new one; it is in the log', 'string', false),
};

/** Errors of every route: Host and Origin are checked before, and the server itself can fail. */
const codesEverywhere: ErrorCode[] = ['host_refused', 'origin_refused', 'internal', 'database_failed'];

/** The answers for error codes, by the status that each has. */
export function failureAnswers(codes: readonly ErrorCode[], shape = 'Error'): Json {
  const byStatus = Map.groupBy([...codes, ...codesEverywhere], (code) => errorStatus[code]);
  const answers = [...byStatus].map(([status, group]) => [status, jsonAnswer(shape, group.join(', '))]);
  return Object.fromEntries(answers) as Json;
}

/** With auth on, these need a key or token; without, nothing. */
export const signedInSecurity = { security: [{}, { bearer: [] }] };
export const signInFailures = ['unauthorized', 'forbidden', 'too_many_requests'] as const;

/** No authentication: the token in the path is the permission, or none is needed. */
export const openSecurity = { security: [] };

export const parameter = (location: 'path' | 'query' | 'header', name: string, more: Json): Json => ({
  name,
  in: location,
  required: location === 'path',
  schema: { type: 'string' },
  ...more,
});

/** Every error, except those of artifacts, whose shape the specification defines. */
const errorSchema = z
  .looseObject({
    error: z.string().describe('What went wrong and what to do, for people'),
    code: z.enum(Object.keys(errorStatus)).describe('The same, for programs'),
  })
  .describe('Some errors have further fields, such as the offset that the server holds');

const artifactError = z.looseObject({ error: z.string() });

const receiptSchema = z.object({
  file_id: z.string(),
  filename: z.string(),
  size: z.number().int(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

const uploadStateSchema = z.object({
  state: z.enum(['open', 'complete']),
  offset: z.number().int().optional().describe('How many bytes the server holds'),
  size: z.number().int().nullable().optional().describe('How many there will be, where that was announced'),
  filesLeft: z.number().int().optional().describe('How many more it takes, where it takes several files'),
  files: z.array(receiptSchema).optional().describe('Those of several files that have arrived'),
  expiresAt: z.iso.datetime(),
  file: receiptSchema.optional(),
});

const artifactList = z.object({ artifacts: z.array(z.string()), count: z.number().int() });

const artifact = z.object({
  artifact_id: z.string(),
  data: z.base64(),
  encoding: z.literal('base64'),
});

const resourceSchema = z.looseObject({
  resource: z.string(),
  authorization_servers: z.array(z.string()),
  scopes_supported: z.array(z.string()),
  bearer_methods_supported: z.array(z.string()),
});

/** Answers for which no room has a schema. A test compares real answers with them. */
export const ownShapes = {
  Error: errorSchema,
  ArtifactError: artifactError,
  UploadReceipt: receiptSchema,
  UploadStanding: uploadStateSchema,
  ArtifactList: artifactList,
  Artifact: artifact,
  ProtectedResource: resourceSchema,
};

const tokenParameter = parameter('path', 'token', {
  description: 'The token of a link: it is the right itself',
  schema: { type: 'string' },
});

const bytesContent = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };

const fileHeaders = {
  ETag: describeHeader('The sha256 of the content in quotes, or v- and a version where that is not known'),
  'Accept-Ranges': describeHeader('bytes'),
};

/** Any type: a file keeps its own. */
const anyContent = { '*/*': { schema: { type: 'string', format: 'binary' } } };

const rangeParameter = parameter('header', 'Range', {
  description: 'One or several ranges of bytes (RFC 9110)',
});

function describeDownload(method: 'get' | 'head'): Json {
  const body = method === 'get' ? { content: anyContent } : {};
  return {
    ...openSecurity,
    summary:
      method === 'get'
        ? 'Fetch a file, a bundle or something of a crate by link'
        : 'See what a link would give, and use nothing up',
    operationId: `${method}File`,
    parameters: method === 'get' ? [rangeParameter] : [],
    responses: {
      200: { ...bodilessAnswer('All of it', fileHeaders), ...body },
      ...(method === 'get'
        ? { 206: { ...bodilessAnswer('The ranges asked for', fileHeaders), content: anyContent } }
        : {}),
      302: bodilessAnswer('The object store has the bytes (--downloads redirect)', {
        Location: describeHeader('Where'),
      }),
      304: bodilessAnswer('It is what the client has'),
      412: bodilessAnswer('It is not what the client takes it for'),
      416: bodilessAnswer('No such range'),
      ...failureAnswers([
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
  '/files/{token}': {
    parameters: [tokenParameter],
    get: describeDownload('get'),
    head: describeDownload('head'),
  },
};

const tusVersionHeader = { 'Tus-Resumable': describeHeader('1.0.0') };
const expiryHeader = { 'Upload-Expires': describeHeader('When the upload must be complete') };
const offsetHeader = { 'Upload-Offset': describeHeader('How many bytes the server holds', 'integer') };

const tusParameter = parameter('header', 'Tus-Resumable', { description: '1.0.0, where tus is spoken' });

const unsupportedVersion = jsonAnswer('Error', 'Another version of tus', {
  'Tus-Version': describeHeader('1.0.0'),
});

const uploadFailures = [
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

function describeUploadOperation(operationId: string, summary: string, more: Json): Json {
  return { ...openSecurity, operationId, summary, ...more };
}

const putOperation = describeUploadOperation('putUpload', 'Send a file in one go', {
  requestBody: { required: true, content: bytesContent },
  responses: {
    201: jsonAnswer('UploadReceipt', 'The file is kept', tusVersionHeader),
    ...failureAnswers(uploadFailures),
  },
});

const getOperation = describeUploadOperation('getUpload', 'Get the state of an upload', {
  responses: {
    200: jsonAnswer('UploadStanding', 'How it stands', tusVersionHeader),
    ...failureAnswers(['upload_not_found', 'too_many_requests']),
  },
});

const headOperation = describeUploadOperation('headUpload', 'tus: ask for the offset', {
  responses: {
    200: bodilessAnswer('The offset', { ...tusVersionHeader, ...offsetHeader, ...expiryHeader }),
    ...failureAnswers(['upload_not_found', 'too_many_requests']),
  },
});

const postOperation = describeUploadOperation(
  'createUpload',
  'tus: creation, which answers where the upload is; a form of a browser is taken too',
  {
    parameters: [
      parameter('header', 'Upload-Length', { schema: { type: 'integer' } }),
      parameter('header', 'Upload-Defer-Length', { schema: { const: '1' } }),
      parameter('header', 'Upload-Metadata', { schema: { type: 'string' } }),
    ],
    responses: {
      201: bodilessAnswer('Where to send to', {
        ...tusVersionHeader,
        ...expiryHeader,
        Location: describeHeader('The same URL, or that of one of several files'),
      }),
      ...failureAnswers([...uploadFailures, 'offset_conflict']),
    },
  },
);

const patchOperation = describeUploadOperation('patchUpload', 'tus: send bytes from an offset on', {
  parameters: [
    parameter('header', 'Upload-Offset', { required: true, schema: { type: 'integer' } }),
    parameter('header', 'Upload-Length', { schema: { type: 'integer' } }),
  ],
  requestBody: {
    required: true,
    content: { 'application/offset+octet-stream': { schema: { type: 'string', format: 'binary' } } },
  },
  responses: {
    204: bodilessAnswer('Held; with Workcrate-File-Id and Workcrate-Sha256 where the file is whole', {
      ...tusVersionHeader,
      ...offsetHeader,
      ...expiryHeader,
      'Workcrate-File-Id': describeHeader('The file that it became', 'string', false),
    }),
    412: unsupportedVersion,
    415: jsonAnswer('Error', 'Content-Type is not application/offset+octet-stream'),
    ...failureAnswers([...uploadFailures, 'offset_conflict']),
  },
});

const deleteOperation = describeUploadOperation('deleteUpload', 'tus: withdraw', {
  responses: {
    204: bodilessAnswer('Withdrawn', tusVersionHeader),
    ...failureAnswers(['upload_not_found', 'upload_used', 'upload_busy']),
  },
});

const optionsOperation = describeUploadOperation('optionsUpload', 'tus: what the server can do', {
  responses: {
    204: bodilessAnswer('Its version and extensions', {
      ...tusVersionHeader,
      'Tus-Version': describeHeader('1.0.0'),
      'Tus-Extension': describeHeader('With commas between'),
      'Tus-Max-Size': describeHeader('The largest file taken', 'integer'),
    }),
    ...failureAnswers(['too_many_requests', 'method_not_allowed']),
  },
});

export const uploadPaths: Json = {
  '/uploads/{token}': {
    parameters: [tokenParameter, tusParameter],
    put: putOperation,
    get: getOperation,
    head: headOperation,
    post: postOperation,
    patch: patchOperation,
    delete: deleteOperation,
    options: optionsOperation,
  },
};
