/** Sessions: what is open, and each as a notebook; the routes of both. */
import type { Hono } from 'hono';
import type { Executions } from '../../core/runs/executions.ts';
import type { Files } from '../../core/files/files.ts';
import { html, nothing, type Html } from '../../platform/html/html.ts';
import type { Sessions } from '../../core/runs/sessions/sessions.ts';
import { answerEvents } from './events.ts';
import type { Feeds } from './feed.ts';
import { liveScript, renderShortTime } from './frame.ts';
import { readShownOutput } from './live.ts';
import { renderCells, renderSession, type CellView, type SessionView } from './notebook.ts';
import { type Visitor, toOwnPath, type Routing } from './routing.ts';
import { renderResults } from './run.ts';
import type { ToolAnswers } from './tool-answers.ts';

export interface SessionRoutesOptions {
  readonly executions: Pick<Executions, 'findLive' | 'get' | 'record' | 'watch'>;
  readonly sessions: Pick<Sessions, 'outline'>;
  readonly files: Pick<Files, 'find' | 'open'>;
  readonly feeds: Feeds;
}

type ListedSession = ToolAnswers['list_sessions']['sessions'][number];

function renderSessions(sessions: readonly ListedSession[]): Html {
  return html`<h1>Sessions</h1>
    ${
      sessions.length === 0
        ? html`<p class="empty">
            No session is open, and none ended within a day. An agent opens one by giving
            <code>execute_code</code> a <code>session_id</code> of its own.
          </p>`
        : html`<ol class="runs sessions">
            ${sessions.map(renderListed)}
          </ol>`
    }`;
}

const renderListed = ({ session_id, name, language, state, cells, ...session }: ListedSession): Html =>
  html`<li>
    <a href="/sessions/${session_id}">
      <span class="state ${state === 'open' ? 'good' : ''}">${state}</span>
      <strong>${name ?? session_id}</strong>
      <span class="muted">${language}</span>
      <span class="muted">${renderShortTime(session.last_used)}</span>
      <span class="muted took">${cells} ${cells === 1 ? 'cell' : 'cells'}</span>
    </a>
    ${session.end === null ? nothing : html`<p class="muted">${session.end.because}</p>`}
  </li>`;

const cellsOnPage = 30;

export function addSessionRoutes(routes: Hono, routing: Routing, options: SessionRoutesOptions): void {
  const { tools, visit, show, fail } = routing;
  routes.get(
    '/sessions',
    show('/sessions', 'Sessions', async (visitor) => {
      const { sessions } = await tools.call(visitor, 'list_sessions', {});
      return renderSessions(sessions);
    }),
  );
  routes.get(
    '/sessions/:id',
    show(
      '/sessions',
      'Session',
      async (visitor, token, { req }) => {
        // The tool decides who may see sessions; it knows no cells.
        await tools.call(visitor, 'list_sessions', {});
        const before = Number(req.query('before') ?? Number.NaN);
        return renderSession(await readSession(options, visitor, { id: req.param('id')!, token, before }));
      },
      liveScript,
    ),
  );
  routes.get('/sessions/:id/live', async (context) => {
    const [id, visitor] = [context.req.param('id'), visit(context)];
    try {
      await tools.call(visitor, 'list_sessions', {});
      const token = routing.tokens.make(visitor.caller.user);
      const part = {
        key: JSON.stringify(['session', visitor.caller.user, id]),
        watch: (tell: () => void) => options.executions.watch(visitor.caller, tell),
        render: async () =>
          (
            await renderCells(await readSession(options, visitor, { id, token, before: Number.NaN }))
          ).toString(),
      };
      return answerEvents(visitor, (signal) => options.feeds.follow(part, signal));
    } catch (cause) {
      return fail('/sessions', cause);
    }
  });
  addSessionActions(routes, routing);
}

interface WantedSession {
  readonly id: string;
  readonly token: string;
  /** Only cells before this number; NaN for the last ones. */
  readonly before: number;
}

/** A session with its last cells: each record may have megabytes. */
async function readSession(
  { executions, sessions, files }: SessionRoutesOptions,
  visitor: Visitor,
  { id, token, before }: WantedSession,
): Promise<SessionView> {
  const outline = await sessions.outline(visitor.caller, id);
  const earlier = Number.isNaN(before) ? outline.cells : outline.cells.filter(({ cell }) => cell < before);
  const cells: CellView[] = [];
  for (const { id: run, isUndone } of earlier.slice(-cellsOnPage)) {
    const shown = executions.record.show(await executions.get(visitor.caller, run));
    const live = executions.findLive(visitor.caller, run);
    const results = await renderResults({ files, visitor, token }, shown);
    cells.push({ run: shown, isUndone, results, live: live && readShownOutput(live) });
  }
  return {
    outline,
    cells,
    token,
    isLatest: Number.isNaN(before),
    hasEarlier: earlier.length > cells.length,
  };
}

const actions = ['checkpoint', 'restore', 'fork', 'interrupt'] as const;

function addSessionActions(routes: Hono, { tools, change }: Routing): void {
  for (const action of actions)
    routes.post(
      `/sessions/:id/${action}`,
      change('/sessions', async (visitor, form, id) => {
        const name = form.get('name');
        const named = typeof name === 'string' && name !== '' ? { name } : {};
        const done = await tools.call(visitor, 'manage_session', { session_id: id, action, ...named });
        return `/sessions/${done.session_id}`;
      }),
    );
  routes.post(
    '/sessions/:id/notebook',
    change('/sessions', async (visitor, _form, id) => {
      const exported = await tools.call(visitor, 'manage_session', { session_id: id, action: 'export' });
      return toOwnPath(exported.notebook!.downloadUrl);
    }),
  );
  routes.post(
    '/sessions/:id/close',
    change('/sessions', async (visitor, _form, id) => {
      await tools.call(visitor, 'close_session', { session_id: id });
      return `/sessions/${id}`;
    }),
  );
}
