/**
 * What is told of requests to those who watch them, such as the audit: one that was answered, one that was refused before
 * it reached a tool. Who answers and refuses them is in `surfaces/mcp/`.
 */
import type { WorkcrateError } from '../../platform/errors.ts';

/** A request that has been answered, well or not. */
export interface AnsweredRequest {
  /** The method of the protocol, such as `resources/read`. */
  readonly method: string;
  /** The URI or the name that it was about, as the client sent it; null where it was about none. */
  readonly subject: string | null;
  readonly user: string;
  readonly client: string | null;
  /** Null where it went well. */
  readonly error: WorkcrateError | null;
  readonly signal: AbortSignal;
}

/** A call that did not reach a tool. */
export interface RefusedCall {
  /** As the client sent it: there may be no tool of that name. */
  readonly tool: string;
  /** The arguments as the client sent them, unchecked. */
  readonly given: Readonly<Record<string, unknown>>;
  readonly user: string;
  readonly client: string | null;
  /**
   * `forbidden` where the key or token lacks the scope, else `invalid_input`. Its details have a `kind` where the call
   * was not a mistake but an attempt to use what belongs to others.
   */
  readonly error: WorkcrateError;
}
