/**
 * Answers the calls of one run: what was not granted is refused, a person is asked where that is needed, the tool is
 * called as its user would call it, and every call is recorded. It reads no frames (`channel.ts` does).
 */
import { inputRequired, type CallToolResult } from '@modelcontextprotocol/server';
import type { Clock } from '../clock.ts';
import { asWorkcrateError, publicMessage, WorkcrateError } from '../errors.ts';
import { hashDefinition, ownServer, type Toolbox } from '../mcp/toolbox.ts';
import { isQuestion, type Question, type ToolContext } from '../mcp/tool.ts';
import type { Log } from '../observability/log.ts';
import type { RunClock } from '../sandbox/sandbox.ts';
import { refusedError, type ReadAnswer, type RunQuestions } from './asking.ts';
import type { CallRequest } from './frames.ts';
import { listNames, type Grant, type GrantedTool } from './grant.ts';
import type { FileSource, RunFiles } from './run-files.ts';
import type { CallRecorder, ToolCall } from './tool-call.ts';
import { isBearable, readErrorText, tooLargeText, toToldValue } from './values.ts';

/** Finds the bytes of a stored file or of a link of ours; null where it is neither. */
export type OpenSource = (context: ToolContext, source: string) => Promise<FileSource | null>;

export interface BrokerOptions {
  readonly execution: { readonly id: string; readonly user: string };
  readonly grant: Grant;
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

type Told = { readonly ok: unknown } | { readonly error: { server: string; tool: string; text: string } };

const toError = (server: string, tool: string, text: string): Told => ({
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

  async function answerCall(tool: string, input: Record<string, unknown>): Promise<Told> {
    sequence++;
    if (sequence > mostCalls) return toError(ownServer, tool, describeBudget(mostCalls));
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
      arguments: input,
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
  async function tell(outcome: JudgedCall, known: GrantedTool | null, name: string): Promise<Told> {
    const { server = ownServer, name: tool = outcome.tool } = known?.definition ?? {};
    if (outcome.result === null || outcome.result.isError === true)
      return toError(server, tool, outcome.text ?? readErrorText(outcome.result!));
    try {
      return { ok: await toToldValue(outcome.result, name, options.files) };
    } catch (error) {
      return toError(server, tool, publicMessage(asWorkcrateError(error)));
    }
  }

  async function answerSave(source: string, path: string): Promise<Told> {
    try {
      const found = await options.openSource(options.context, source);
      if (found === null)
        throw new WorkcrateError(
          'not_found',
          'Only a file_id of yours and a download link of this server can be saved.',
        );
      return { ok: await options.files.save(path, found) };
    } catch (error) {
      return toError(ownServer, 'save', publicMessage(asWorkcrateError(error)));
    }
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
        return toError(
          ownServer,
          'call' in request ? request.call : 'save',
          'The server failed. It is in its log.',
        );
      }
    },
  };
}

/** What became of a call, before code is told. */
interface JudgedCall extends Pick<ToolCall, 'tool' | 'verdict' | 'outcome' | 'result'> {
  /** Why there is no result. */
  readonly text: string | null;
}

async function callJudged(
  options: BrokerOptions,
  allowed: Set<string>,
  known: GrantedTool | null,
  tool: string,
  input: Record<string, unknown>,
): Promise<JudgedCall> {
  const refuse = (text: string): JudgedCall => ({
    tool,
    verdict: 'refused',
    outcome: 'refused',
    result: null,
    text,
  });
  if (known === null) return refuse(describeMissingGrant(tool, options.grant));
  const verdict = known.asks ? 'approved' : 'granted';
  const cancelled = (): JudgedCall => ({
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
  const result = await callTool(options, tool, input);
  if (options.context.signal.aborted && result.isError === true) return cancelled();
  if (!isBearable(result)) return { tool, verdict, outcome: 'error', result: null, text: tooLargeText };
  return { tool, verdict, outcome: result.isError === true ? 'error' : 'ok', result, text: null };
}

/** More rounds than a tool can need. */
const maxRounds = 24;

/** Calls a tool as its user would. What the tool asks, the client of the run is asked. */
async function callTool(
  options: BrokerOptions,
  tool: string,
  input: Record<string, unknown>,
): Promise<CallToolResult> {
  const { toolbox, context } = options;
  try {
    let { client } = context;
    for (let round = 0; round < maxRounds; round++) {
      const answer = await toolbox.call(tool, input, { ...context, client });
      if (!isQuestion(answer)) return answer;
      client = { ...context.client, state: answer.state, answer: await ask(options, answer) };
    }
    throw new WorkcrateError('client_refused', 'The client was asked too often without an answer that fits.');
  } catch (error) {
    return { isError: true, content: [{ type: 'text', text: publicMessage(asWorkcrateError(error)) }] };
  }
}

/** The run's time does not pass meanwhile. */
async function ask({ questions, runClock, context }: BrokerOptions, question: Question): Promise<ReadAnswer> {
  using _hold = runClock.hold();
  return await questions.ask(question, context.signal);
}

const maxShownArguments = 1500;

/** Resolves if a person allows it. */
async function askPerson(
  options: BrokerOptions,
  allowed: Set<string>,
  tool: string,
  input: Record<string, unknown>,
): Promise<void> {
  const { elicitation } = options.context.client.capabilities;
  // Before there were modes, a bare `elicitation` meant forms.
  if (elicitation === undefined || (elicitation.form === undefined && elicitation.url !== undefined))
    throw refusedError('it may change or delete something, and this client cannot ask its user');
  const json = JSON.stringify(input);
  const shown = json.length > maxShownArguments ? `${json.slice(0, maxShownArguments)}…` : json;
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
  const answer = (await ask(options, { ask: { allow: question }, state: {} }))('allow');
  if (answer.kind !== 'elicit') throw refusedError('the client sent no answer to the question');
  if (answer.action !== 'accept') throw refusedError('the user declined');
  if (answer.content?.['always'] === true) allowed.add(tool);
}

const describeBudget = (most: number): string =>
  `The run has made its ${most} calls of tools. Ask for more at once, or have the operator raise --tool-calls.`;

function describeMissingGrant(tool: string, grant: Grant): string {
  const names = listNames([...grant.values()].map(({ definition }) => definition));
  return `The run was not given ${JSON.stringify(tool)}. It may call: ${names}. The call of execute_code names others in tools; what does more than read has to be named without a star.`;
}

/** For files that are named after the tool. */
const toFileName = (tool: string): string => tool.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64);
