/**
 * The log of the server, for operators: JSON lines on stderr, with secrets removed. It keeps no file and rotates
 * nothing. Who did what is in the audit log (`core/audit/`).
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { withoutSecrets } from '../text/secrets.ts';

/** Structured lines for the operator. One JSON object a line, so that no content can forge another line. */
export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** Whether debug lines are written, for callers that would have to do work for one. */
  readonly tellsDebug?: boolean;
}

type LogFields = Readonly<Record<string, unknown>>;

const logLevels = ['debug', 'info', 'warn', 'error'] as const;

export type LogLevel = (typeof logLevels)[number] | 'off';

/** Logs to stderr: stdout belongs to the protocol when the program runs as `workcrate stdio`. */
export function createLog(
  least: LogLevel,
  write: (line: string) => void = (line) => void process.stderr.write(line),
): Log {
  const threshold = least === 'off' ? logLevels.length : logLevels.indexOf(least);
  const at = (level: (typeof logLevels)[number]) =>
    logLevels.indexOf(level) < threshold
      ? () => {}
      : (event: string, fields: LogFields = {}) => write(toLogLine(level, event, fields));
  const tellsDebug = threshold === 0;
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), tellsDebug };
}

function toLogLine(level: string, event: string, fields: LogFields): string {
  const id = getRequestId();
  const request = id === null ? {} : { request: id };
  const json = JSON.stringify(
    { time: new Date().toISOString(), level, event, ...request, ...fields },
    toLoggedValue,
  );
  return `${json.replace(unprintableInLogs, escapeForLog)}\n`;
}

/** What JSON leaves as it is, although terminals act on it or take it for the end of a line. */
const unprintableInLogs = /[\u007f-\u009f\u2028\u2029]/g;
const escapeForLog = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Errors do not survive JSON by themselves; their stack stays out, their code and cause come along. No text has a secret. */
function toLoggedValue(_key: string, value: unknown): unknown {
  if (typeof value === 'string') return withoutSecrets(value);
  if (!(value instanceof Error)) return value;
  const code = (value as { code?: unknown }).code;
  return { code, message: value.message, ...(value.cause === undefined ? {} : { cause: value.cause }) };
}

/**
 * The id of each HTTP request, which its answer and all its log lines carry. It is for finding lines, and proves
 * nothing: a client may choose it.
 */

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
