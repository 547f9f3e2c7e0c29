import { randomBytes } from 'node:crypto';
import type { InputRequest } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import type { Client, Question, ToolContext } from '../../mcp/tool.ts';
import { rungs } from '../client-file.ts';
import { otherQuestion, tooLate } from './failures.ts';

/** The one key under which a question of ours is asked. */
export const answerKey = 'client_file';

/** What a question leaves with the client. It comes back unaltered, by the same user (mcp/request-state.ts). */
const leftShape = z.object({
  bridge: z.literal(1),
  user: z.string(),
  operation: z.enum(['read', 'list']),
  /** As it was given: judged anew in each round. */
  path: z.string(),
  rung: z.enum([...rungs, 'roots']),
  nonce: z.string(),
  /** The same in all rounds of a call. */
  chain: z.string(),
  until: z.number(),
  /** How often the same was asked before. */
  round: z.number(),
});

export type Left = z.output<typeof leftShape>;

/** What tells the rounds of a call from those of others; null in the first. */
export const chainOf = ({ state }: Pick<Client, 'state'>): string | null =>
  leftShape.safeParse(state).data?.chain ?? null;

/** What a question is about. */
export type Subject = Pick<Left, 'operation' | 'path'>;

export interface AskOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
}

/** Open questions of one user. Whoever asks more loses the oldest of their own. */
const mostOpen = 1000;
const mostUsers = 10_000;

export type Questions = ReturnType<typeof createQuestions>;

/** Each question is answered once, in time, by whom it was asked; this process remembers which are open. */
export function createQuestions({ clock, timeoutMs }: AskOptions) {
  const open = new Map<string, Set<string>>();

  function remember(user: string, nonce: string): void {
    const own = open.get(user) ?? new Set();
    if (own.size >= mostOpen) own.delete(own.values().next().value!);
    if (open.size >= mostUsers && !open.has(user)) open.delete(open.keys().next().value!);
    open.set(user, own.add(nonce));
  }

  /** Whether it was open. */
  function close(user: string, nonce: string): boolean {
    const own = open.get(user);
    const was = own?.delete(nonce) ?? false;
    if (own?.size === 0) open.delete(user);
    return was;
  }

  return {
    ask(
      subject: Subject,
      { caller, client }: Pick<ToolContext, 'caller' | 'client'>,
      rung: Left['rung'],
      request: (nonce: string) => InputRequest,
      round = 0,
    ): Question {
      const nonce = randomBytes(16).toString('base64url');
      const chain = chainOf(client) ?? nonce;
      remember(caller.user, nonce);
      const { operation, path } = subject;
      const until = clock() + timeoutMs;
      const state: Left = { bridge: 1, user: caller.user, operation, path, rung, nonce, chain, until, round };
      return { ask: { [answerKey]: request(nonce) }, state };
    },

    /**
     * What an earlier round left about this very subject; null where it asked nothing. What is about another is
     * refused, or passed over where a call has several.
     */
    take(subject: Subject, context: ToolContext, amongOthers: boolean): Left | null {
      const { data: left } = leftShape.safeParse(context.client.state);
      if (left === undefined) return null;
      const isAboutThis = left.operation === subject.operation && left.path === subject.path;
      if (!isAboutThis && amongOthers) return null;
      if (!isAboutThis || left.user !== context.caller.user || !close(left.user, left.nonce))
        throw otherQuestion();
      if (clock() > left.until) throw tooLate(subject.path, timeoutMs);
      return left;
    },
  };
}
