/**
 * How a view answers: a GET shows it or says why not, a POST does something for a form of ours and then redirects. Each
 * view has its routes beside what it renders. Views call tools as an agent of the same user would: scopes, limits and the
 * audit log do not know the difference, but for the name of the client.
 */
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Caller } from '../../core/identity.ts';
import type { Toolbox } from '../../core/offer/toolbox.ts';
import { isQuestion, type ToolContext, type ToolGroup } from '../../core/offer/tool.ts';
import type { ToolAnswers } from './tool-answers.ts';
import type { Context } from 'hono';
import {
  asWorkcrateError,
  isOurFault,
  publicMessage,
  WorkcrateError,
  type ErrorCode,
} from '../../platform/errors.ts';
import type { BrowserScript } from '../../platform/html/browser-script.ts';
import { html, type Html } from '../../platform/html/html.ts';
import { getErrorStatus } from '../../platform/http/answer.ts';
import type { Log } from '../../platform/observability/log.ts';
import { formatBytes } from '../../platform/text/text.ts';
import { answerView, type FormTokens, type ViewPage } from './frame.ts';

export interface RoutingOptions {
  readonly tools: PageTools;
  readonly tokens: FormTokens;
  /** Who made a request, by what the framework knows of it. */
  readonly visitorOf: (env: unknown) => Omit<Visitor, 'signal'>;
  readonly log: Log;
}

type View = ViewPage['view'];

/** What routes of views are made with. */
export type Routing = ReturnType<typeof createRouting>;

export function createRouting({ tools, tokens, visitorOf, log }: RoutingOptions) {
  const visit = ({ env, req }: Context): Visitor => ({ ...visitorOf(env), signal: req.raw.signal });
  const makeToken = ({ caller }: Visitor): string => tokens.make(caller.user);
  const answer = (visitor: Visitor, page: Omit<ViewPage, 'signedIn' | 'mayOperate'>): Promise<Response> => {
    const { user } = visitor.caller;
    return answerView({
      ...page,
      signedIn: visitor.scopes === null ? null : { user, token: makeToken(visitor) },
      mayOperate: mayOperate(visitor),
    });
  };
  const fail = (view: View, cause: unknown): Promise<Response> => answerFailure(view, cause, log);
  return {
    tools,
    tokens,
    visit,
    fail,

    /** Shows a view, or why it cannot be shown. */
    show:
      (
        view: View,
        title: string,
        render: (visitor: Visitor, token: string, context: Context) => Promise<Html>,
        script?: BrowserScript,
      ) =>
      async (context: Context): Promise<Response> => {
        try {
          const visitor = visit(context);
          const token = makeToken(visitor);
          const body = await render(visitor, token, context);
          return await answer(visitor, { view, title, body, ...(script === undefined ? {} : { script }) });
        } catch (cause) {
          return fail(view, cause);
        }
      },

    /**
     * Shows a view that is made of a form of ours, of so many bytes at most. What was typed is in the form alone, so the
     * view has it too, and says itself why a form is refused.
     */
    submit:
      (
        view: View,
        title: string,
        mostBytes: number,
        render: (visitor: Visitor, token: string, form: FormData) => Promise<Html>,
      ) =>
      async (context: Context): Promise<Response> => {
        try {
          const visitor = visit(context);
          const body = await render(visitor, makeToken(visitor), await readForm(context, mostBytes));
          return await answer(visitor, { view, title, body });
        } catch (cause) {
          return fail(view, cause);
        }
      },

    /** Does something for a form of ours and shows what came of it, which no address can show again. */
    showOnce:
      (
        view: View,
        title: string,
        act: (visitor: Visitor, form: FormData, token: string, context: Context) => Promise<Html>,
        script: BrowserScript,
      ) =>
      async (context: Context): Promise<Response> => {
        try {
          const visitor = visit(context);
          const form = await readForm(context);
          demandOwnForm(tokens, visitor.caller.user, form);
          const body = await act(visitor, form, makeToken(visitor), context);
          return await answer(visitor, { view, title, body, script });
        } catch (cause) {
          return fail(view, cause);
        }
      },

    /** Does something for a form of ours, then shows where it leads. */
    change:
      (view: View, act: (visitor: Visitor, form: FormData, id: string) => Promise<string>) =>
      async (context: Context): Promise<Response> => {
        try {
          const visitor = visit(context);
          const form = await readForm(context);
          demandOwnForm(tokens, visitor.caller.user, form);
          return context.redirect(await act(visitor, form, context.req.param('id') ?? ''), 303);
        } catch (cause) {
          return fail(view, cause);
        }
      },
  };
}

/** A link may name a public address that this browser does not use: the path is the same. */
export const toOwnPath = (url: string): string => new URL(url, 'http://unused').pathname;

const maxFormBytes = 16 * 1024;

export async function readForm({ req }: Context, mostBytes = maxFormBytes): Promise<FormData> {
  const type = req.header('content-type') ?? '';
  if (!type.startsWith('application/x-www-form-urlencoded'))
    throw new WorkcrateError('invalid_input', 'This takes a form of the page alone.');
  if (Number(req.header('content-length') ?? Infinity) > mostBytes)
    throw new WorkcrateError(
      'too_large',
      `This form is too large: at most ${formatBytes(mostBytes)} are taken. Your browser still has what you typed: go back to it.`,
    );
  return req.formData();
}

export function demandOwnForm(tokens: FormTokens, user: string, form: FormData): void {
  if (tokens.isGood(user, form.get('token'))) return;
  throw new WorkcrateError(
    'forbidden',
    'This page is too old, or the request came from elsewhere. Load the page again.',
  );
}

function answerFailure(view: View, cause: unknown, log: Log): Promise<Response> {
  const error = asWorkcrateError(cause);
  if (isOurFault(error)) log.error('http.refused', { route: view, code: error.code, error });
  const body = html`<section class="card">
    <h1>This did not work</h1>
    <p>${publicMessage(error)}</p>
    <p><a href="${view}">Back</a></p>
  </section>`;
  return answerView({ view, title: 'This did not work', body, status: getErrorStatus(error) });
}

/** Who looks at a page. */
export interface Visitor {
  readonly caller: Caller;
  /** Null where authentication is off, and everything is allowed. */
  readonly scopes: readonly string[] | null;
  /** Fires when the browser goes away. */
  readonly signal: AbortSignal;
}

const never = new AbortController().signal;

const toContext = ({ caller, scopes, signal }: Visitor): ToolContext => ({
  caller,
  signal,
  stopping: never,
  client: {
    name: 'page',
    connection: null,
    capabilities: {},
    answer: () => {
      throw new WorkcrateError('client_unsupported', 'A page cannot be asked.');
    },
    state: null,
  },
  sharesMachine: false,
  mayUse: (group) => scopes === null || scopes.includes(group) || isGrantedByOther(group, scopes),
  canWait: true,
  progress: () => {},
  task: null,
});

/** Who may read a crate may have it checked: the group is a scope of its own only to keep lists of tools short. */
const isGrantedByOther = (group: ToolGroup, scopes: readonly string[]): boolean =>
  group === 'validation' && scopes.includes('crates');

export interface PageTools {
  has(visitor: Visitor, name: string): Promise<boolean>;
  /** The typed value of the answer. Rejects with the error of the tool. */
  call<Name extends keyof ToolAnswers>(
    visitor: Visitor,
    name: Name,
    input: Record<string, unknown>,
  ): Promise<ToolAnswers[Name]>;
}

export function createPageTools(toolbox: Toolbox): PageTools {
  return {
    has: (visitor, name) => toolbox.has(name, toContext(visitor)),
    async call(visitor, name, input) {
      const result = await toolbox.call(name, input, toContext(visitor));
      if (isQuestion(result))
        throw new WorkcrateError('client_unsupported', `${name} needs a client that can be asked.`);
      if (result.isError === true) throw toError(result);
      return result.structuredContent as never;
    },
  };
}

function toError({ content, _meta }: CallToolResult): WorkcrateError {
  const [first] = content;
  const { code = 'internal' } = (_meta?.['workcrate/error'] ?? {}) as { code?: ErrorCode };
  return new WorkcrateError(code, first?.type === 'text' ? first.text : 'The tool failed.');
}

/** Whether somebody may operate the server: without authentication there is one trust domain. */
export const mayOperate = ({ scopes }: Pick<Visitor, 'scopes'>): boolean =>
  scopes === null || scopes.includes('operator');
