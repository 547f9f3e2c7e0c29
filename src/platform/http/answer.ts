/**
 * How errors and JSON are answered over HTTP, and the one table of the status for each error code. It counts nothing
 * (`server.ts` does).
 */
import type { ServerResponse } from 'node:http';
import {
  asWorkcrateError,
  isOurFault,
  publicMessage,
  type ErrorCode,
  type WorkcrateError,
} from '../errors.ts';
import type { Log } from '../observability/log.ts';

/** The HTTP status of every error code. */
export const errorStatus: Readonly<Record<ErrorCode, number>> = {
  invalid_input: 400,
  not_found: 404,
  link_not_found: 404,
  link_busy: 409,
  bytes_gone: 410,
  file_damaged: 410,
  upload_not_found: 404,
  upload_used: 409,
  upload_busy: 423,
  upload_incomplete: 400,
  offset_conflict: 409,
  too_large: 413,
  size_mismatch: 422,
  hash_mismatch: 422,
  quota_exceeded: 507,
  already_exists: 409,
  path_refused: 403,
  path_not_allowed: 403,
  path_not_found: 404,
  storage_full: 507,
  storage_read_only: 503,
  storage_failed: 500,
  out_of_descriptors: 503,
  database_failed: 503,
  database_newer: 500,
  data_in_use: 500,
  data_mismatch: 500,
  config_invalid: 500,
  port_in_use: 500,
  stopping: 503,
  bind_refused: 500,
  unauthorized: 401,
  forbidden: 403,
  host_refused: 403,
  origin_refused: 403,
  too_many_requests: 429,
  method_not_allowed: 405,
  unsupported: 501,
  artifact_too_large: 400,
  artifact_failed: 500,
  sandbox_unavailable: 503,
  sandbox_busy: 503,
  session_ended: 409,
  session_elsewhere: 409,
  checkpoint_refused: 409,
  packages_missing: 409,
  package_refused: 403,
  package_not_found: 404,
  registry_unreachable: 502,
  install_failed: 422,
  sandbox_failed: 500,
  source_unreachable: 503,
  crate_gone: 410,
  crate_changed: 409,
  not_a_zip: 422,
  zip_encrypted: 422,
  zip_truncated: 422,
  zip_damaged: 422,
  metadata_invalid: 422,
  index_busy: 503,
  embeddings_failed: 502,
  document_invalid: 422,
  document_failed: 500,
  document_timeout: 504,
  documents_busy: 503,
  documents_unavailable: 503,
  library_refused: 502,
  library_unreachable: 502,
  tool_failed: 502,
  guard_blocked: 403,
  guard_failed: 503,
  client_unsupported: 501,
  client_refused: 403,
  client_timeout: 504,
  upstream_failed: 502,
  upstream_timeout: 504,
  tool_changed: 409,
  cancelled: 499,
  stalled: 408,
  internal: 500,
  issuer_unavailable: 503,
};

/** Headers of every answer that is not a file: it may not be cached, sniffed or sent as a referrer. */
const plainHeaders = {
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** A JSON answer as a `Response`, for the routes of rooms. */
export function jsonResponse(value: unknown, status = 200): Response {
  const headers = { ...plainHeaders, 'Content-Type': 'application/json; charset=utf-8' };
  return new Response(`${JSON.stringify(value)}\n`, { status, headers });
}

/** What `act` gives, or its error; one that is our fault is logged with the route. */
export async function answerWithJson(
  act: () => Promise<unknown>,
  route: string,
  log: Log,
): Promise<Response> {
  try {
    return jsonResponse(await act());
  } catch (cause) {
    const error = asWorkcrateError(cause);
    if (isOurFault(error)) log.error('http.refused', { route, code: error.code, error });
    return jsonResponse(
      { error: publicMessage(error), code: error.code, ...error.details },
      getErrorStatus(error),
    );
  }
}

export const getErrorStatus = ({ code }: WorkcrateError): number => errorStatus[code];

export function answerJson(
  res: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string | number> = {},
): void {
  const body = Buffer.from(`${JSON.stringify(value)}\n`);
  res.writeHead(status, {
    ...plainHeaders,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': body.length,
    ...headers,
  });
  res.end(res.req.method === 'HEAD' ? undefined : body);
}

export function answerError(
  res: ServerResponse,
  error: WorkcrateError,
  headers: Record<string, string | number> = {},
): void {
  const status = errorStatus[error.code];
  const retry =
    error.code === 'link_busy' || [408, 423, 429, 503].includes(status)
      ? { 'Retry-After': error.details['retryAfter'] ?? 5 }
      : {};
  answerJson(
    res,
    status,
    { error: publicMessage(error), code: error.code, ...error.details },
    { ...retry, ...headers },
  );
}
