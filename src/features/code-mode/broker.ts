/**
 * Answers the calls of one run: what was not granted is refused, a person is asked where that is needed, the tool is
 * called as its user would call it, and every call is recorded. It reads no frames (`channel.ts` does).
 */
import { inputRequired, type CallToolResult } from '@modelcontextprotocol/server';
import type { Clock } from '../../platform/clock.ts';
import { asWorkcrateError, publicMessage, WorkcrateError } from '../../platform/errors.ts';
import { hashDefinition, ownServer, type Toolbox } from '../../core/offer/toolbox.ts';
import { isQuestion, type Question, type ToolContext } from '../../core/offer/tool.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { RunClock } from '../../ports/sandbox/sandbox.ts';
import { callRefusedError, type ReadAnswer, type RunQuestions } from '../../core/runs/questions.ts';
import type { CallRequest } from './frames.ts';
import { listToolNames, type ToolGrant, type GrantedTool } from './grant.ts';
import type { RunFiles } from './run-files.ts';
import { isSaveTool, saveSource, saveToTool, type OpenSource } from './save.ts';
import { toPlainJson } from '../../platform/text/text.ts';
import type { CallRecorder, ToolCall } from './runs.ts';
import { isBearable, readErrorText, tooLargeText, toToldValue } from './values.ts';

export interface BrokerOptions {
  readonly execution: { readonly id: string; readonly user: string };
  readonly grant: ToolGrant;
  readonly toolbox: Toolbox;
  /** Of the call that began the run, with the signal of the run. */
  readonly context: ToolContext;
  readonly questions: Pick<RunQuestions, 'ask'>;
  /** The run's, which stands still while a person is asked. */
  readonly runClock: RunClock;
  readonly files: RunFiles;
  readonly openSource: OpenSource;
  readonly recorder: CallRecorder;
  readonly mostCalls: number;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Broker {
  /** Gives the answer as code reads it. Never rejects. */
  answer(request: CallRequest): Promise<object>;
}

type Reply = { readonly ok: unknown } | { readonly error: { server: string; tool: string; text: string } };

const toCallFailure = (server: string, tool: string, text: string): Reply => ({
  error: { server, tool: tool.slice(0, 200), text },
});

export function createBroker(options: BrokerOptions): Broker {
  const { grant, mostCalls, recorder, execution, clock, log } = options;
  /** Tools of which a person has allowed all further calls. */
  const allowed = new Set<string>();
  let sequence = 0;

  async function record(call: ToolCall): Promise<void> {
    try {
      await recorder.note(execution, call);
    } catch (error) {
      log.error('execution.call_not_recorded', { id: execution.id, tool: call.tool, error });
    }
  }

  async function answerCall(tool: string, input: Record<string, unknown>): Promise<Reply> {
    sequence++;
    if (sequence > mostCalls) return toCallFailure(ownServer, tool, describeBudget(mostCalls));
    const own = sequence;
    const known = grant.get(tool) ?? null;
    const startedAt = clock();
    const began = performance.now();
    const outcome = await callJudged(options, allowed, known, tool, input);
    const told = await tell(outcome, known, `${toFileName(tool)}-${own}`);
    await record({
      sequence: own,
      server: known?.definition.server ?? ownServer,
      tool,
      definitionHash: known?.definition.hash ?? null,
      arguments: outcome.kept ?? input,
      argumentsHash: hashDefinition(input),
      result: outcome.result,
      resultHash: outcome.result === null ? null : hashDefinition(outcome.result),
      verdict: outcome.verdict,
      outcome: outcome.outcome,
      error: 'error' in told ? told.error.text : null,
      startedAt,
      ms: performance.now() - began,
    });
    return told;
  }

  /** A value that cannot be given is an error of the call. */
  async function tell(outcome: EndedCall, known: GrantedTool | null, name: string): Promise<Reply> {
    const { server = ownServer, name: tool = outcome.tool } = known?.definition ?? {};
    if (outcome.result === null || outcome.result.isError === true)
      return toCallFailure(server, tool, outcome.text ?? readErrorText(outcome.result!));
    try {
      return { ok: await toToldValue(outcome.result, name, options.files) };
    } catch (error) {
      return toCallFailure(server, tool, publicMessage(asWorkcrateError(error)));
    }
  }

  /** It has a frame of its own, and its answer is the file alone. */
  async function answerSave(source: string, path: string): Promise<Reply> {
    const told = await answerCall(saveToTool.name, { source, path });
    return 'ok' in told ? { ok: (told.ok as { readonly value: unknown }).value } : told;
  }

  return {
    async answer(request) {
      try {
        return 'call' in request
          ? await answerCall(request.call, request.arguments)
          : await answerSave(request.save, request.path);
      } catch (error) {
        // Code would wait for ever for an answer that does not come.
        log.error('execution.call_failed', { id: execution.id, error });
        return toCallFailure(
          ownServer,
          'call' in request ? request.call : 'save',
          'The server failed. It is in its log.',
        );
      }
    },
  };
}

/** What became of a call, before code is told. */
interface EndedCall extends Pick<ToolCall, 'tool' | 'verdict' | 'outcome' | 'result'> {
  /** Why there is no result. */
  readonly text: string | null;
  /** What to record of the arguments, where that is not all of them. */
  readonly kept?: Record<string, unknown>;
}

async function callJudged(
  options: BrokerOptions,
  allowed: Set<string>,
  known: GrantedTool | null,
  tool: string,
  input: Record<string, unknown>,
): Promise<EndedCall> {
  const refuse = (text: string): EndedCall => ({
    tool,
    verdict: 'refused',
    outcome: 'refused',
    result: null,
    text,
  });
  if (known === null) return refuse(describeMissingGrant(tool, options.grant));
  const verdict = known.asks ? 'approved' : 'granted';
  const cancelled = (): EndedCall => ({
    tool,
    verdict,
    outcome: 'cancelled',
    result: null,
    text: 'The run was cancelled.',
  });
  try {
    if (known.asks && !allowed.has(tool)) await askPerson(options, allowed, tool, input);
  } catch (error) {
    return options.context.signal.aborted ? cancelled() : refuse(publicMessage(asWorkcrateError(error)));
  }
  const isSave = isSaveTool(known.definition);
  const { result, kept } = isSave ? await saveSource(options, input) : await callInRun(options, tool, input);
  if (options.context.signal.aborted && result.isError === true) return cancelled();
  if (!isBearable(result)) return { tool, verdict, outcome: 'error', result: null, text: tooLargeText };
  const outcome = result.isError === true ? 'error' : 'ok';
  return { tool, verdict, outcome, result, text: null, ...(kept && { kept }) };
}

/** More rounds than a tool can need. */
const maxRounds = 24;

/** Calls a tool as its user would. What the tool asks, the client of the run is asked. */
async function callInRun(
  options: BrokerOptions,
  tool: string,
  input: Record<string, unknown>,
): Promise<{ readonly result: CallToolResult; readonly kept?: undefined }> {
  const { toolbox, context } = options;
  try {
    let { client } = context;
    for (let round = 0; round < maxRounds; round++) {
      const answer = await toolbox.call(tool, input, { ...context, client });
      if (!isQuestion(answer)) return { result: answer };
      client = { ...context.client, state: answer.state, answer: await askCaller(options, answer) };
    }
    throw new WorkcrateError('client_refused', 'The client was asked too often without an answer that fits.');
  } catch (error) {
    const text = publicMessage(asWorkcrateError(error));
    return { result: { isError: true, content: [{ type: 'text', text }] } };
  }
}

/** The run's time does not pass meanwhile. */
async function askCaller(
  { questions, runClock, context }: BrokerOptions,
  question: Question,
): Promise<ReadAnswer> {
  using _hold = runClock.hold();
  return await questions.ask(question, context.signal);
}

/** What a person can be expected to read, as JSON. */
const maxShownArguments = 4000;

/** Resolves if a person allows it, who has seen all of it: what is cut off could be what matters. */
async function askPerson(
  options: BrokerOptions,
  allowed: Set<string>,
  tool: string,
  input: Record<string, unknown>,
): Promise<void> {
  const { elicitation } = options.context.client.capabilities;
  // Before there were modes, a bare `elicitation` meant forms.
  if (elicitation === undefined || (elicitation.form === undefined && elicitation.url !== undefined))
    throw callRefusedError('it may change or delete something, and this client cannot ask its user');
  const shown = toPlainJson(input);
  if (shown.length > maxShownArguments)
    throw callRefusedError(
      `it may change or delete something, and its arguments have ${shown.length} characters, of which a person would have to see all (at most ${maxShownArguments}). Send the data as a file, or call it without code`,
    );
  const question = inputRequired.elicit({
    message: `Code that runs for you (${options.execution.id}) wants to call ${tool}, which may change or delete something, with ${shown}. Allow it?`,
    requestedSchema: {
      type: 'object',
      properties: {
        always: {
          type: 'boolean',
          title: `Also allow further calls of ${tool} by this run`,
          default: false,
        },
      },
    },
  });
  const answer = (await askCaller(options, { ask: { allow: question }, state: {} }))('allow');
  if (answer.kind !== 'elicit') throw callRefusedError('the client sent no answer to the question');
  if (answer.action !== 'accept') throw callRefusedError('the user declined');
  if (answer.content?.['always'] === true) allowed.add(tool);
}

const describeBudget = (most: number): string =>
  `The run has made its ${most} calls of tools. Ask for more at once, or have the operator raise --tool-calls.`;

function describeMissingGrant(tool: string, grant: ToolGrant): string {
  const names = listToolNames([...grant.values()].map(({ definition }) => definition));
  return `The run was not given ${JSON.stringify(tool)}. It may call: ${names}. The call of execute_code names others in tools; what does more than read has to be named without a star.`;
}

/** For files that are named after the tool. */
const toFileName = (tool: string): string => tool.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64);
