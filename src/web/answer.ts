import type { ServerResponse } from 'node:http';
import { publicMessage, type WorkcrateError } from '../errors.ts';
import { errorStatus } from './error-status.ts';

/** Headers of every answer that is not a file: nothing here may be cached, sniffed or referred from. */
const plainHeaders = {
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** The same as a `Response`, for the rooms' routes. */
export function jsonResponse(value: unknown, status = 200): Response {
  const headers = { ...plainHeaders, 'Content-Type': 'application/json; charset=utf-8' };
  return new Response(`${JSON.stringify(value)}\n`, { status, headers });
}

export const statusOf = ({ code }: WorkcrateError): number => errorStatus[code];

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
