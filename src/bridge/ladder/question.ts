import { randomBytes } from 'node:crypto';
import type { InputRequest } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import type { Client, Question, ToolContext } from '../../mcp/tool.ts';
import { rungs } from '../client-file.ts';
import { createByUser } from './by-user.ts';
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
  /** Where the project is, as far as this call knows: it need not be told again in later rounds. */
  root: z.string().nullable(),
  until: z.number(),
  /** How often the same was asked before. */
  round: z.number(),
});

export type Left = z.output<typeof leftShape>;

/** The project that an earlier round of this call was about; undefined where none has found that out. */
export function rootLeft({ state }: Pick<Client, 'state'>): string | null | undefined {
  const { data: left } = leftShape.safeParse(state);
  return left === undefined || left.rung === 'roots' ? undefined : left.root;
}

/** What a question is about. */
export type Subject = Pick<Left, 'operation' | 'path'> & Partial<Pick<Left, 'root'>>;

export interface AskOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
}

const mostOpen = { each: 1000, users: 10_000 };

export type Questions = ReturnType<typeof createQuestions>;

/** Each question is answered once, in time, by whom it was asked; this process remembers which are open. */
export function createQuestions({ clock, timeoutMs }: AskOptions) {
  const open = createByUser<true>(mostOpen);

  return {
    ask(
      subject: Subject,
      { caller }: Pick<ToolContext, 'caller'>,
      rung: Left['rung'],
      request: (nonce: string) => InputRequest,
      round = 0,
    ): Question {
      const nonce = randomBytes(16).toString('base64url');
      open.set(caller.user, nonce, true);
      const { operation, path, root = null } = subject;
      const until = clock() + timeoutMs;
      const state: Left = { bridge: 1, user: caller.user, operation, path, root, rung, nonce, until, round };
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
      if (!isAboutThis || left.user !== context.caller.user || !open.remove(left.user, left.nonce))
        throw otherQuestion();
      if (clock() > left.until) throw tooLate(subject.path, timeoutMs);
      return left;
    },
  };
}
