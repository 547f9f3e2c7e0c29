import { isWorkcrateError, type ErrorCode } from '../errors.ts';

/** The word on the command line of one that was started in place of one that has failed. */
export const afterFailure = 'after-failure';

/** The beginning of the word that says how many bytes of memory a process may have. */
export const mostMemory = 'most-memory=';

/** How a process ends itself that has more memory than that. Nobody else sends this signal. */
export const tooMuchMemory = 'SIGUSR2';

/** What goes over: numbers tell calls apart. */
export type ToThread =
  | { readonly call: number; readonly method: string; readonly argument: unknown }
  | { readonly cancel: number }
  /** Asks for a sign of life. */
  | { readonly ping: true };

export type FromThread =
  | { readonly log: LogLine }
  | { readonly pong: true }
  /** It cannot go on: something was thrown that nobody caught. */
  | { readonly died: Failure }
  | Answer;

export type Answer =
  | { readonly call: number; readonly progress: unknown }
  | { readonly call: number; readonly result: unknown }
  | { readonly call: number; readonly failure: Failure };

/** A line for the log of the server. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: Readonly<Record<string, string | number>>;
  /** For the log: what a caller is not told. */
  readonly cause: string | null;
}

/** How a failure crosses over. */
export function failureOf(error: unknown): Failure {
  if (isWorkcrateError(error)) {
    const cause = error.cause instanceof Error ? error.cause.message : null;
    return { code: error.code, message: error.message, details: error.details, cause };
  }
  if (error instanceof Error && error.name === 'AbortError')
    return { code: 'cancelled', message: 'It was cancelled.', details: {}, cause: null };
  const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: 'internal', message: 'The server failed. Its log says why.', details: {}, cause };
}
