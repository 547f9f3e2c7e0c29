/**
 * The views for operators and their routes: how the server is, who fills the disk, running code and links of all, and
 * the audit log. Who may see and do this is decided behind `OperatorAccess` and by the tool `search_audit`.
 */
import type { Hono } from 'hono';
import { html, nothing, type Html } from '../../platform/html/html.ts';
import type { OperatorAccess } from './operate-access.ts';
import { renderAudit, renderVerified, type AuditFilter } from './operate-audit.ts';
import { renderLinksOfAll, renderRunsOfAll } from './operate-lists.ts';
import { renderOperatorStatus } from './operate-status.ts';
import { renderUsers } from './operate-users.ts';
import type { Routing } from './routing.ts';

const parts = [
  ['/operate', 'Health'],
  ['/operate/users', 'Users'],
  ['/operate/runs', 'Running'],
  ['/operate/links', 'Links'],
  ['/operate/audit', 'Audit log'],
] as const;

/** A view with the navigation among these views. */
const renderPart = (
  path: (typeof parts)[number][0],
  { serverName, isShared }: Pick<OperatorAccess, 'serverName' | 'isShared'>,
  body: Html,
): Html =>
  html`<nav class="tabs" aria-label="For operators">
      ${parts.map(
        ([address, name]) =>
          html`<a href="${address}" ${address === path ? html`aria-current="page"` : nothing}>${name}</a>`,
      )}
    </nav>
    ${isShared ? html`<p class="muted">Answered by the server <code>${serverName}</code>.</p>` : nothing}
    ${body}`;

const linesOnPage = 50;

export function addOperatorRoutes(
  routes: Hono,
  { tools, show, change }: Routing,
  access: OperatorAccess,
): void {
  routes.get(
    '/operate',
    show('/operate', 'Operate', async (visitor) => {
      const { status, history } = await access.status(visitor);
      return renderPart('/operate', access, renderOperatorStatus(status, history, access.isShared));
    }),
  );
  routes.get(
    '/operate/users',
    show('/operate', 'Users', async (visitor) =>
      renderPart('/operate/users', access, renderUsers(await access.users(visitor), Date.now())),
    ),
  );
  routes.get(
    '/operate/runs',
    show('/operate', 'Running code', async (visitor, token) =>
      renderPart(
        '/operate/runs',
        access,
        renderRunsOfAll(await access.runs(visitor), access.isShared, token, Date.now()),
      ),
    ),
  );
  routes.post(
    '/operate/runs/:id/end',
    change('/operate', async (visitor, _form, id) => {
      await access.endRun(visitor, id);
      return '/operate/runs';
    }),
  );
  routes.get(
    '/operate/links',
    show('/operate', 'Links', async (visitor, token, { req }) => {
      const { user = '', after = '' } = req.query();
      const page = await access.links(visitor, { user, after });
      return renderPart('/operate/links', access, renderLinksOfAll(page, user, token, Date.now()));
    }),
  );
  routes.post(
    '/operate/links/:id/revoke',
    change('/operate', async (visitor, form, id) => {
      await access.revokeLink(visitor, id);
      const user = form.get('user');
      const query = typeof user === 'string' && user !== '' ? `?user=${encodeURIComponent(user)}` : '';
      return `/operate/links${query}`;
    }),
  );
  routes.get(
    '/operate/audit',
    show('/operate', 'Audit log', async (visitor, _token, { req }) => {
      await access.demand(visitor);
      const { text = '', user = '', operation = '', level = '', before = '' } = req.query();
      const filter: AuditFilter = { text, user, operation, level };
      const given = Object.entries({ ...filter, before }).filter(([, value]) => value !== '');
      const wanted = { ...Object.fromEntries(given), limit: linesOnPage };
      const page = await tools.call(visitor, 'search_audit', wanted);
      return renderPart(
        '/operate/audit',
        access,
        renderAudit(page.lines, page.next, filter, access.isShared),
      );
    }),
  );
  routes.get(
    '/operate/audit/verify',
    show('/operate', 'Audit log', async (visitor) =>
      renderPart('/operate/audit', access, renderVerified(await access.verifyAudit(visitor))),
    ),
  );
}
