/**
 * Questions to a client that are answered once, in time and by whom they were asked, and where the client's project
 * is. The state of a question is signed in `surfaces/mcp/`; what is asked is written in `methods.ts`.
 */
import { randomBytes } from 'node:crypto';
import type { InputRequest, InputResponseView } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Clock } from '../../../platform/clock.ts';
import { isWorkcrateError } from '../../../platform/errors.ts';
import type { McpClient, Question, ToolContext } from '../../../core/offer/tool.ts';
import { transferMethods } from '../client-file.ts';
import { createByUser } from './by-user.ts';
import { wrongAnswerError, clientTimeoutError } from './failures.ts';

/** The one key under which a question of ours is asked. */
export const fileAnswerKey = 'client_file';

/** What a question leaves with the client. It comes back unaltered, by the same user (mcp/request-state.ts). */
const questionStateShape = z.object({
  bridge: z.literal(1),
  user: z.string(),
  operation: z.enum(['read', 'list']),
  /** As it was given: it is checked again in each round. */
  path: z.string(),
  rung: z.enum([...transferMethods, 'roots']),
  nonce: z.string(),
  /** Where the project is, as far as this call knows: later rounds need not ask again. */
  root: z.string().nullable(),
  until: z.number(),
  /** How often the same was asked before. */
  round: z.number(),
});

export type QuestionState = z.output<typeof questionStateShape>;

/** The project that an earlier round of this call was about; undefined where none has found that out. */
function readRootFromState({ state }: Pick<McpClient, 'state'>): string | null | undefined {
  const { data: left } = questionStateShape.safeParse(state);
  return left === undefined || left.rung === 'roots' ? undefined : left.root;
}

/** What a question is about. */
export type QuestionSubject = Pick<QuestionState, 'operation' | 'path'> &
  Partial<Pick<QuestionState, 'root'>>;

export interface ClientFileQuestionsOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
}

const maxUsedNonces = { each: 1000, users: 10_000 };

export type ClientFileQuestions = ReturnType<typeof createFileQuestions>;

/**
 * Each question is answered once, in time, by whom it was asked. What was asked is in the signed state, so that any
 * server takes the answer; this process remembers which it has taken. The same answer, brought to another server in
 * time, is taken there too. That does no harm: only who was asked can bring it, and could as well give the file anew.
 */
export function createFileQuestions({ clock, timeoutMs }: ClientFileQuestionsOptions) {
  /** By their nonces; until when each could have been answered, since it is too late after that anyway. */
  const used = createByUser<number>(maxUsedNonces);
  let nextLook = 0;

  function forgetOld(now: number): void {
    if (now < nextLook) return;
    nextLook = now + timeoutMs;
    used.removeWhere((until) => until < now);
  }

  /** Whether this is the first answer to a question. */
  function use({ user, nonce, until }: QuestionState): boolean {
    if (used.get(user, nonce) !== undefined) return false;
    forgetOld(clock());
    used.set(user, nonce, until);
    return true;
  }

  return {
    ask(
      subject: QuestionSubject,
      { caller }: Pick<ToolContext, 'caller'>,
      rung: QuestionState['rung'],
      request: (nonce: string) => InputRequest,
      round = 0,
    ): Question {
      const nonce = randomBytes(16).toString('base64url');
      const { operation, path, root = null } = subject;
      const until = clock() + timeoutMs;
      const state: QuestionState = {
        bridge: 1,
        user: caller.user,
        operation,
        path,
        root,
        rung,
        nonce,
        until,
        round,
      };
      return { ask: { [fileAnswerKey]: request(nonce) }, state };
    },

    /**
     * What an earlier round left about this very subject; null where it asked nothing. What is about another is
     * refused, or passed over where a call has several.
     */
    take(subject: QuestionSubject, context: ToolContext, amongOthers: boolean): QuestionState | null {
      const { data: left } = questionStateShape.safeParse(context.client.state);
      if (left === undefined) return null;
      const isAboutThis = left.operation === subject.operation && left.path === subject.path;
      if (!isAboutThis && amongOthers) return null;
      if (!isAboutThis || left.user !== context.caller.user || !use(left)) throw wrongAnswerError();
      // Who never says where the project is can be asked for its files all the same.
      if (left.rung !== 'roots' && clock() > left.until) throw clientTimeoutError(subject.path, timeoutMs);
      return left;
    },
  };
}

export interface RootsOptions {
  /** The project's folder as it was set, for clients on this machine; null where it was not. */
  readonly root: string | null;
  /** Throws for what cannot be a project's folder. */
  readonly check: (root: string) => void;
  readonly clock: Clock;
}

/** Long where the client says when it has others; else a window may have opened another project meanwhile. */
const rootValidMs = { heard: 60 * 60_000, unheard: 60_000 };

interface KnownRoot {
  readonly root: string | null;
  readonly until: number;
}

type RootsContext = Pick<ToolContext, 'client' | 'sharesMachine'>;

export type ProjectRoots = ReturnType<typeof createProjectRoots>;

/** Where the client's project is: as the client said, or as was set for clients on this machine. */
export function createProjectRoots({ root, check, clock }: RootsOptions) {
  // Two windows of one person have two projects: an answer counts for its connection, or for its call.
  const byConnection = new WeakMap<object, KnownRoot>();
  const byRound = new WeakMap<McpClient, KnownRoot>();

  function known({ client }: RootsContext): string | null | undefined {
    const now = byRound.get(client);
    const left = now === undefined ? readRootFromState(client) : now.root;
    if (left !== undefined || client.connection === null) return left;
    const answer = byConnection.get(client.connection);
    return answer && answer.until > clock() ? answer.root : undefined;
  }

  function remember({ client }: RootsContext, root: string | null): void {
    const heard = client.capabilities.roots?.listChanged === true ? 'heard' : 'unheard';
    const answer = { root, until: clock() + rootValidMs[heard] };
    byRound.set(client, answer);
    if (client.connection !== null) byConnection.set(client.connection, answer);
  }

  return {
    /** Null if it is unknown. */
    of: (context: RootsContext): string | null => known(context) ?? (context.sharesMachine ? root : null),

    /** Whether the client has not been asked yet, and can be. */
    canAsk: (context: RootsContext): boolean =>
      context.client.capabilities.roots !== undefined && known(context) === undefined,

    /** Takes the first that can be a project's folder; a client that tells of none is not asked again for a while. */
    tell(context: RootsContext, answer: InputResponseView): void {
      const uris =
        answer.kind === 'roots'
          ? answer.roots.slice(0, 100).map((each: { uri?: unknown } | null) => each?.uri)
          : [];
      const first = uris.map((uri) => parseRootUri(uri, check)).find((path) => path !== null);
      remember(context, first ?? null);
    },
  };
}

/** Read by hand, since the client may be of another system than this one. */
function parseRootUri(uri: unknown, check: (root: string) => void): string | null {
  const url = typeof uri === 'string' ? URL.parse(uri) : null;
  if (url?.protocol !== 'file:' || !['', 'localhost'].includes(url.hostname)) return null;
  try {
    const path = decodeURIComponent(url.pathname).replace(/^\/(?=[a-z]:)/i, '');
    check(path);
    return path;
  } catch (error) {
    if (error instanceof URIError || isWorkcrateError(error, 'invalid_input')) return null;
    throw error;
  }
}
