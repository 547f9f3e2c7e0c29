/**
 * What is done around every request for resources, prompts, completions and tasks: it is counted, logged and reported for the
 * audit, and its errors become errors of the protocol. Calls of tools have their own in `server.ts`.
 */
import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type ServerContext,
} from '@modelcontextprotocol/server';
import {
  asWorkcrateError,
  isOurFault,
  publicMessage,
  WorkcrateError,
  type ErrorCode,
} from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { JudgeAnswer } from '../../core/offer/judge.ts';
import type { AnsweredRequest } from '../../core/offer/request.ts';
import type { ToolContext } from '../../core/offer/tool.ts';

/** Counts by labels. */
interface LabelCounter<Labels> {
  inc(labels: Labels): void;
}

/** What is counted here, of all metrics. */
export interface McpMetrics {
  readonly toolCalls: LabelCounter<{ readonly tool: string; readonly result: string }>;
  readonly mcpRequests: LabelCounter<{ readonly method: string; readonly result: string }>;
}

export interface AnsweringOptions {
  readonly metrics: Pick<McpMetrics, 'mcpRequests'>;
  readonly log: Log;
  readonly underWay?: { calls: number };
  /** Called for each request that touched something of a user. */
  readonly answered?: (request: AnsweredRequest) => void;
  readonly toContext: (context: ServerContext) => ToolContext;
  readonly judge?: JudgeAnswer | undefined;
}

export interface RequestSubject {
  readonly method: string;
  readonly subject: string | null;
  /** Whether clients repeat it all the time, so that only failures are worth a line. */
  readonly isRoutine?: boolean;
  /** Whether what it answers was judged when it was made. */
  readonly isJudged?: boolean;
}

export type AnswerCounted = <T>(
  request: RequestSubject,
  context: ServerContext,
  work: (context: ToolContext) => Promise<T>,
) => Promise<T>;

/** Answers requests so that each is counted, logged and told to the audit, whatever becomes of it. */
export function createRequestRecorder(options: AnsweringOptions): AnswerCounted {
  const { metrics, log, underWay = { calls: 0 }, answered, toContext, judge } = options;
  return async ({ method, subject, isRoutine = false, isJudged = false }, serverContext, work) => {
    const started = performance.now();
    const context = toContext(serverContext);
    const { caller, client, signal } = context;
    const finish = (error: WorkcrateError | null): void => {
      const result = error?.code ?? 'ok';
      metrics.mcpRequests.inc({ method, result });
      const ms = Math.round(performance.now() - started);
      const cause = error !== null && isOurFault(error) ? { error } : {};
      if (isRoutine && error === null) return;
      log.info('mcp.answered', { method, user: caller.user, result, ms, ...cause });
      answered?.({ method, subject, user: caller.user, client: client.name, error, signal });
    };
    underWay.calls++;
    try {
      const isShown = judge === undefined || isJudged;
      const result = await (isShown ? work(context) : judge(method, context, work));
      finish(null);
      return result;
    } catch (cause) {
      const error = signal.aborted ? requestCancelledError(cause) : asWorkcrateError(cause);
      finish(error);
      throw toProtocolError(error, method === 'resources/read' ? subject : null);
    } finally {
      underWay.calls--;
    }
  };
}

const requestCancelledError = (cause: unknown): WorkcrateError =>
  new WorkcrateError('cancelled', 'The request was cancelled.', { cause });

/** What means, for a URI, that there is nothing to be had by it. */
const absenceCodesOfRequests: ReadonlySet<ErrorCode> = new Set([
  'invalid_input',
  'not_found',
  'path_not_found',
  'path_refused',
]);

/** A URI of nothing gets the error that the protocol has for it. */
function toProtocolError(error: WorkcrateError, uri: string | null): ProtocolError {
  const message = publicMessage(error);
  if (uri !== null && absenceCodesOfRequests.has(error.code)) return new ResourceNotFoundError(uri, message);
  const code = isOurFault(error) ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams;
  return new ProtocolError(code, message, { code: error.code, ...error.details });
}
