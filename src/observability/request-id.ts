/**
 * The id of each HTTP request, which its answer and all its log lines carry. It is for finding lines, and proves
 * nothing: a client may choose it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

const current = new AsyncLocalStorage<string>();

/** An id from a proxy or client that is safe in logs and headers as it is. */
const requestIdForm = /^[A-Za-z0-9._-]{1,64}$/;

function readGivenId({ headers }: IncomingMessage): string | null {
  const given = headers['x-request-id'];
  return typeof given === 'string' && requestIdForm.test(given) ? given : null;
}

/** Answers a request under an id: its own, or a new one. It is in the answer and in every log line. */
export function runWithRequestId<T>(req: IncomingMessage, res: ServerResponse, answer: () => T): T {
  const id = readGivenId(req) ?? randomUUID();
  if (!res.headersSent) res.setHeader('X-Request-Id', id);
  return current.run(id, answer);
}

/** The request that the running code works for; null where it works for none. */
export const getRequestId = (): string | null => current.getStore() ?? null;
