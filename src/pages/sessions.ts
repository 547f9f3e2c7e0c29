/** Sessions: what is open, its checkpoints, and the session as a notebook. */
import type { Hono } from 'hono';
import { html, nothing, type Html } from '../html/html.ts';
import { renderAction, renderShortTime } from './frame.ts';
import { toOwnPath, type Routing } from './routing.ts';

export interface ListedSession {
  readonly session_id: string;
  readonly name: string | null;
  readonly language: string;
  readonly state: string;
  readonly end: { readonly because: string } | null;
  readonly created_at: string;
  readonly last_used: string;
  readonly cells: number;
  readonly checkpoints: readonly string[];
  readonly elsewhere: boolean;
}

function renderSessions(sessions: readonly ListedSession[], token: string): Html {
  return html`<h1>Sessions</h1>
    ${
      sessions.length === 0
        ? html`<p class="muted">No session is open, and none ended within a day.</p>`
        : sessions.map((session) => renderSession(session, token))
    }`;
}

function renderSession(session: ListedSession, token: string): Html {
  const address = `/sessions/${encodeURIComponent(session.session_id)}`;
  const { name, session_id, language, state, end, cells, checkpoints, elsewhere } = session;
  return html`<article class="card result">
    <h2>${name ?? session_id}</h2>
    <p class="facts">
      <span class="state ${state === 'open' ? 'good' : ''}">${state}</span>
      <span>${language}</span>
      <span>${cells} ${cells === 1 ? 'cell' : 'cells'}</span>
      <span>began ${renderShortTime(session.created_at)} UTC</span>
      <span>last used ${renderShortTime(session.last_used)} UTC</span>
      ${elsewhere ? html`<span>on another server</span>` : nothing}
    </p>
    ${end === null ? nothing : html`<p>${end.because}</p>`}
    ${checkpoints.length === 0 ? nothing : html`<p>Checkpoints: ${checkpoints.join(', ')}</p>`}
    <div class="actions">
      ${cells === 0 ? nothing : renderAction(`${address}/notebook`, 'Open as a notebook', token)}
      ${state === 'open' ? renderAction(`${address}/close`, 'Close', token) : nothing}
    </div>
  </article>`;
}

export function addSessionRoutes(routes: Hono, { tools, show, change }: Routing): void {
  routes.get(
    '/sessions',
    show('/sessions', 'Sessions', async (visitor, token) => {
      const { sessions } = await tools.call(visitor, 'list_sessions', {});
      return renderSessions(sessions, token);
    }),
  );
  routes.post(
    '/sessions/:id/notebook',
    change('/sessions', async (visitor, _form, id) => {
      const exported = await tools.call(visitor, 'manage_session', { session_id: id, action: 'export' });
      return toOwnPath(exported.notebook.downloadUrl);
    }),
  );
  routes.post(
    '/sessions/:id/close',
    change('/sessions', async (visitor, _form, id) => {
      await tools.call(visitor, 'close_session', { session_id: id });
      return '/sessions';
    }),
  );
}
