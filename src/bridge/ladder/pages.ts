import { setTimeout as pause } from 'node:timers/promises';
import { inputRequired } from '@modelcontextprotocol/server';
import { isWorkcrateError } from '../../errors.ts';
import { isStopping, type Question, type ToolContext } from '../../mcp/tool.ts';
import type { AwaitedFiles } from './awaited.ts';
import { mayNot, tooLate } from './failures.ts';
import { answerKey, type Left, type Questions } from './question.ts';
import type { Taking, Trip, Use } from './trip.ts';

export interface PagesOptions {
  readonly questions: Pick<Questions, 'ask'>;
  readonly awaited: Pick<AwaitedFiles, 'expect' | 'withdraw'>;
  readonly arrived: <T>(trip: Trip, use: Use<T>) => Promise<T | null>;
  readonly baseUrl: () => string;
  readonly timeoutMs: number;
}

const pollMs = 200;
const pagesAsked = 2;

/** Asking by a page on which a person chooses the file. */
export function createPages({ questions, awaited, arrived, baseUrl, timeoutMs }: PagesOptions) {
  async function ask({ errand, subject, context }: Trip, round: number): Promise<Question> {
    const { token } = await awaited.expect(context.caller, errand, 'url');
    const what = errand.operation === 'read' ? 'file' : 'names of what is in the folder';
    const request = inputRequired.elicitUrl({
      message: `The server asks for the ${what} ${JSON.stringify(errand.path.relative || '.')} of your project. Choose it on this page.`,
      url: `${baseUrl()}/ask/${token}`,
    });
    return questions.ask(subject, context, 'url', () => request, round);
  }

  /** Where nobody agreed to open the page, nothing can be sent by it any more. */
  async function demandAgreed({ errand, context }: Trip): Promise<void> {
    const { relative } = errand.path;
    try {
      const answer = context.client.answer(answerKey);
      if (answer.kind !== 'elicit') throw mayNot(relative, 'the client sent no answer to the question');
      if (answer.action !== 'accept') throw mayNot(relative, 'the person declined');
    } catch (error) {
      if (isWorkcrateError(error, 'client_refused')) await awaited.withdraw(context.caller, errand);
      throw error;
    }
  }

  /** To agree to open a page is not to have used it: most clients answer before anything was sent. */
  async function answered<T>(trip: Trip, left: Left, { use, meanwhile }: Taking<T>): Promise<T | Question> {
    const { relative } = trip.errand.path;
    const { context } = trip;
    await demandAgreed(trip);
    const share = timeoutMs / pagesAsked;
    const since = performance.now();
    for (;;) {
      const came = (await arrived(trip, use)) ?? meanwhile();
      if (came !== null) return came;
      const waited = performance.now() - since;
      if (waited > share) break;
      context.progress(Math.round(left.round * share + waited), null, 'waiting for the file');
      await wait(context);
    }
    if (left.round + 1 < pagesAsked) return ask(trip, left.round + 1);
    throw tooLate(relative, timeoutMs);
  }

  async function wait({ signal, stopping }: ToolContext): Promise<void> {
    try {
      const either = AbortSignal.any([signal, stopping]);
      await pause(Math.min(pollMs, timeoutMs), null, { signal: either });
    } catch (error) {
      throw stopping.aborted ? isStopping(error) : error;
    }
  }

  return { ask, answered };
}
