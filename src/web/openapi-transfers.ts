import { bodiless, failures, header, json, open, parameter, type Json } from './openapi-parts.ts';

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
