/**
 * Runs one call of a tool: its handler, the questions to its client, metrics, log, and errors as results. What a call may
 * use, and who calls, is put together in `server.ts`.
 */
import {
  inputRequired,
  inputResponse,
  ProtocolError,
  type CallToolResult,
  type InputRequiredResult,
} from '@modelcontextprotocol/server';
import { asWorkcrateError, isOurFault, WorkcrateError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { McpMetrics } from './answered-requests.ts';
import type { Answers } from './asking.ts';
import { runLongCall, usualTaskAfterMs, type LongCallOptions } from './tasks/long-call.ts';
import {
  isQuestion,
  toCallResult,
  toErrorResult,
  type McpClient,
  type Question,
  type Tool,
  type ToolAnswer,
  type ToolContext,
} from '../../core/offer/tool.ts';
import { toViewData } from '../../core/offer/views.ts';

export interface ClientAsking {
  /** Signs the state of a call, for its client to keep. */
  mint(data: Record<string, unknown>): Promise<string>;
  /** Asks at once and returns the answers; null where the question is the result of the call. */
  readonly now: (question: Question) => Promise<Answers | null>;
}

/** More rounds than a call can need for the client files that it names. */
const maxAskRounds = 24;

async function runHandler(
  tool: Tool,
  input: Record<string, unknown>,
  context: ToolContext,
  { now }: ClientAsking,
) {
  let round: Pick<McpClient, 'state' | 'answer'> = context.client;
  for (let count = 0; count < maxAskRounds; count++) {
    const { state, answer: readAnswer } = round;
    const client = { ...context.client, state, answer: readAnswer };
    const answer = await tool.handle(input, { ...context, client });
    if (!isQuestion(answer)) return answer;
    const read = await now(answer).then(
      (answers) => answers && ((key: string) => inputResponse(answers, key)),
      // Thrown where the tool reads the answer, so that the tool can clean up what it has begun.
      (error: unknown) => (): never => {
        throw error;
      },
    );
    if (read === null) return answer;
    round = { state: answer.state, answer: read };
  }
  throw new WorkcrateError('client_refused', 'The client was asked too often without an answer that fits.');
}

export interface CallTerms {
  readonly metrics: Pick<McpMetrics, 'toolCalls'>;
  readonly log: Log;
  /** How many calls have not been answered yet. */
  readonly underWay?: { calls: number };
  readonly asking: ClientAsking;
  readonly isStructured: boolean;
}

export async function answerToolCall(
  tool: Tool,
  input: Record<string, unknown>,
  context: ToolContext,
  { metrics, log, underWay = { calls: 0 }, asking, isStructured }: CallTerms,
): Promise<CallToolResult | InputRequiredResult> {
  const started = performance.now();
  underWay.calls++;
  const finish = (result: string, fields: Record<string, unknown> = {}): void => {
    metrics.toolCalls.inc({ tool: tool.name, result });
    const ms = Math.round(performance.now() - started);
    log.info('tool.called', { tool: tool.name, user: context.caller.user, result, ms, ...fields });
  };
  try {
    const answer = await runHandler(tool, input, context, asking);
    // A cancelled run ends with an answer like any other.
    const ending = context.signal.aborted && !isQuestion(answer) ? 'cancelled' : readCallOutcome(answer);
    finish(ending);
    if (!isQuestion(answer)) {
      const meta = toViewData(tool, answer.structured, context.client.capabilities);
      return toCallResult(answer, isStructured, meta);
    }
    return inputRequired({ inputRequests: answer.ask, requestState: await asking.mint({ ...answer.state }) });
  } catch (cause) {
    if (cause instanceof ProtocolError) {
      finish('protocol_error');
      throw cause;
    }
    const error = context.signal.aborted ? callCancelledError(cause) : asWorkcrateError(cause);
    finish(error.code, isOurFault(error) ? { error } : {});
    return toErrorResult(error);
  } finally {
    underWay.calls--;
  }
}

/** What a call takes that becomes a task if it lasts. */
export interface LongCallTerms extends Pick<LongCallOptions, 'tasks' | 'lost' | 'cutting'> {
  /** How long it may take before that. */
  readonly taskAfterMs?: number;
}

/** Calls a tool, and gives its result or the task that the call became. */
export function callLong(
  tool: Tool,
  input: Record<string, unknown>,
  context: ToolContext,
  terms: CallTerms & LongCallTerms,
) {
  const { taskAfterMs: afterMs = usualTaskAfterMs, asking } = terms;
  const { caller, progress } = context;
  return runLongCall({ ...terms, caller, tool: tool.name, afterMs, progress }, ({ ask, ...detached }) =>
    answerToolCall(tool, input, { ...context, ...detached }, { ...terms, asking: { ...asking, now: ask } }),
  );
}

/** A tool of another server may fail with a result. */
function readCallOutcome(answer: ToolAnswer<unknown> | Question): string {
  if (isQuestion(answer)) return 'asked';
  return answer.passedOn?.isError === true ? 'tool_failed' : 'ok';
}

function callCancelledError(cause: unknown): WorkcrateError {
  return new WorkcrateError('cancelled', 'The call was cancelled.', { cause });
}
