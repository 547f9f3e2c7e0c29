/**
 * Calls that wait for a person: a server asks something in the middle of a call, and our own call is answered with a
 * question meanwhile (decision 030). The call goes on when the client comes back with the answer. It is kept in this
 * process, for a bounded time.
 */
import { randomUUID } from 'node:crypto';
import type { CallToolResult, ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import { inputRequired } from '@modelcontextprotocol/server';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Question, ToolContext } from '../../core/offer/tool.ts';
import { escapeControls } from '../../platform/text/text.ts';

type AskedForm = ElicitRequest['params'];
export type Answerer = (params: AskedForm) => Promise<ElicitResult>;

/** What a call needs that may be interrupted by questions. */
export interface OpenCall {
  /** Answers the server, once its client has. */
  readonly answer: Answerer;
  /** Fires when the client of the present round cancels, or nobody comes back. */
  readonly signal: AbortSignal;
  /** That of the present round. */
  progress: ToolContext['progress'];
}

interface WaitingQuestion {
  readonly user: string;
  readonly server: string;
  readonly outcome: Promise<CallToolResult>;
  readonly controller: AbortController;
  readonly call: OpenCall;
  question: PromiseWithResolvers<AskedForm>;
  reply: ((result: ElicitResult) => void) | null;
}

export interface GatewayQuestions {
  /** Starts a call, and gives its result, or a question to be asked first. */
  start(
    server: string,
    context: ToolContext,
    run: (call: OpenCall) => Promise<CallToolResult>,
  ): Promise<CallToolResult | Question>;
  /** Goes on with the call whose question has been answered; null for a new call. */
  resume(context: ToolContext): Promise<CallToolResult | Question> | null;
}

const stateKey = 'gatewayCall';
const gatewayAnswerKey = 'gateway';
const maxWaitingQuestions = 1000;
const maxMessage = 2000;

export function createGatewayQuestions(waitMs: number): GatewayQuestions {
  const waiting = new Map<string, WaitingQuestion>();

  async function settle(one: WaitingQuestion, context: ToolContext): Promise<CallToolResult | Question> {
    const cancel = (): void => one.controller.abort(context.signal.reason);
    if (context.signal.aborted) cancel();
    context.signal.addEventListener('abort', cancel, { once: true });
    one.call.progress = context.progress;
    try {
      for (;;) {
        const next = await Promise.race([
          one.outcome.then((result) => ({ result })),
          one.question.promise.then((asked) => ({ asked })),
        ]);
        if ('result' in next) return next.result;
        one.question = Promise.withResolvers();
        if (canAsk(next.asked, context) && waiting.size < maxWaitingQuestions) return keep(one, next.asked);
        // A refusal that the server understands; it says in its own words what it could not do.
        one.reply?.({ action: 'decline' });
      }
    } finally {
      context.signal.removeEventListener('abort', cancel);
    }
  }

  function keep(one: WaitingQuestion, asked: AskedForm): Question {
    const id = randomUUID();
    waiting.set(id, one);
    setTimeout(() => {
      if (!waiting.delete(id)) return;
      one.reply?.({ action: 'cancel' });
      one.controller.abort(lateError());
    }, waitMs).unref();
    const message = `The server ${one.server} asks: ${escapeControls(asked.message.slice(0, maxMessage))}`;
    const { requestedSchema } = asked as {
      requestedSchema: Parameters<typeof inputRequired.elicit>[0]['requestedSchema'];
    };
    return {
      ask: { [gatewayAnswerKey]: inputRequired.elicit({ message, requestedSchema }) },
      state: { [stateKey]: id },
    };
  }

  return {
    start(server, context, run) {
      const controller = new AbortController();
      const call: OpenCall = {
        signal: controller.signal,
        progress: context.progress,
        answer(params) {
          const { promise, resolve } = Promise.withResolvers<ElicitResult>();
          one.reply = resolve;
          one.question.resolve(params);
          return promise;
        },
      };
      const one: WaitingQuestion = {
        user: context.caller.user,
        server,
        controller,
        call,
        question: Promise.withResolvers(),
        reply: null,
        get outcome() {
          return outcome;
        },
      };
      const outcome = run(call);
      // It may fail while nobody waits for it.
      outcome.catch(() => {});
      return settle(one, context);
    },
    resume(context) {
      const id = context.client.state?.[stateKey];
      if (typeof id !== 'string') return null;
      const one = waiting.get(id);
      if (one === undefined || one.user !== context.caller.user) return Promise.reject(lateError());
      waiting.delete(id);
      one.reply?.(readElicited(context));
      return settle(one, context);
    },
  };
}

const lateError = (): WorkcrateError =>
  new WorkcrateError(
    'client_timeout',
    'The answer came too late: the call that asked is over. Call the tool again.',
  );

/** Pages at other addresses are not passed on: a person could not tell who sends them there. */
function canAsk(asked: AskedForm, { client }: ToolContext): boolean {
  const { elicitation } = client.capabilities;
  const isForm = asked.mode === undefined || asked.mode === 'form';
  return (
    isForm && elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
  );
}

/** Where no answer can be read, the person has not agreed. */
function readElicited({ client }: ToolContext): ElicitResult {
  try {
    const answer = client.answer(gatewayAnswerKey);
    if (answer.kind !== 'elicit') return { action: 'cancel' };
    const { action, content } = answer;
    return content === undefined
      ? { action }
      : { action, content: content as NonNullable<ElicitResult['content']> };
  } catch {
    return { action: 'cancel' };
  }
}
