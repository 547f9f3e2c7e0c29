/**
 * Asks a model until it has answered one step: failures of the endpoint are retried as their class allows, with a pause
 * or with a changed request. Malformed calls are answers here: `agent.ts` deals with them.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Tool } from '@modelcontextprotocol/client';
import type { LanguageModel, ModelMessage } from 'ai';
import { AgentError, failureRules, toAgentError, type FailureClass } from './failure.ts';
import { askOnce, createModel, type ModelEndpoint, type ModelAnswer } from './model.ts';
import type { ModelPackages } from './packages.ts';
import { toToolSet } from './tools.ts';

export interface StepRequest {
  readonly messages: readonly ModelMessage[];
  readonly instructions: string;
  readonly temperature: number;
  readonly signal: AbortSignal;
}

export interface AskerOptions {
  readonly packages: ModelPackages;
  readonly endpoint: ModelEndpoint;
  readonly tools: readonly Tool[];
  /** The first pause before asking again; each further one is twice as long. */
  readonly firstPauseMs: number;
  readonly onRetry: (error: AgentError, waitMs: number) => void;
}

export type AskModel = (request: StepRequest) => Promise<ModelAnswer>;

/** Nobody waits longer than this for an endpoint that is busy. */
const maxPauseMs = 60_000;

/** What an endpoint refused once is not sent again. */
interface Adjustments {
  readonly hasPlainTools: boolean;
  readonly hasTemperature: boolean;
  readonly hasShortResults: boolean;
}

export function createAskModel(options: AskerOptions): AskModel {
  const { packages, endpoint, tools, firstPauseMs, onRetry } = options;
  const model: LanguageModel = createModel(packages, endpoint);
  let adjusted: Adjustments = { hasPlainTools: false, hasTemperature: true, hasShortResults: false };
  return async (request) => {
    const retries = new Map<FailureClass, number>();
    for (;;) {
      try {
        return await askOnce(packages, model, {
          messages: adjusted.hasShortResults ? shortenResults(request.messages) : [...request.messages],
          tools: toToolSet(packages, tools, adjusted.hasPlainTools),
          instructions: request.instructions,
          temperature: adjusted.hasTemperature ? request.temperature : null,
          signal: request.signal,
        });
      } catch (error) {
        request.signal.throwIfAborted();
        const failed = toAgentError(error);
        const count = (retries.get(failed.failure) ?? 0) + 1;
        retries.set(failed.failure, count);
        const waitMs = getPause(failed, count, firstPauseMs);
        if (count > failureRules[failed.failure].retries || waitMs > maxPauseMs) throw failed;
        adjusted = adjust(adjusted, failed.failure);
        onRetry(failed, waitMs);
        await pause(waitMs, undefined, { signal: request.signal });
      }
    }
  };
}

/** Where the request changes there is nothing to wait for. */
function getPause({ failure, retryAfterMs }: AgentError, count: number, firstPauseMs: number): number {
  if (['context_too_long', 'bad_tools', 'bad_temperature'].includes(failure)) return 0;
  return retryAfterMs ?? firstPauseMs * 2 ** (count - 1);
}

function adjust(before: Adjustments, failure: FailureClass): Adjustments {
  return {
    hasPlainTools: before.hasPlainTools || failure === 'bad_tools',
    hasTemperature: before.hasTemperature && failure !== 'bad_temperature',
    hasShortResults: before.hasShortResults || failure === 'context_too_long',
  };
}

const shortLength = 500;

/** The results of earlier calls are most of a long conversation; the last ones are what the next step is about. */
function shortenResults(messages: readonly ModelMessage[]): ModelMessage[] {
  const last = messages.findLastIndex(({ role }) => role === 'tool');
  return messages.map((message, at) => {
    if (message.role !== 'tool') return message;
    const most = at === last ? shortLength * 10 : shortLength;
    return { ...message, content: message.content.map((part) => shortenPart(part, most)) };
  });
}

type ToolPart = Extract<ModelMessage, { role: 'tool' }>['content'][number];

function shortenPart(part: ToolPart, most: number): ToolPart {
  if (part.type !== 'tool-result' || (part.output.type !== 'text' && part.output.type !== 'error-text'))
    return part;
  const { value } = part.output;
  if (value.length <= most) return part;
  const left = `[${value.length - most} characters left out]`;
  return { ...part, output: { ...part.output, value: `${value.slice(0, most)}\n${left}` } };
}
