/** Links: what was shared, until when, how it was used, and an end to each. */
import type { Hono } from 'hono';
import { html, nothing, type Html } from '../../platform/html/html.ts';
import { renderAction, renderShortTime } from './frame.ts';
import { renderTabs } from './library-tabs.ts';
import type { Routing } from './routing.ts';
import type { ToolAnswers } from './tool-answers.ts';

export type ListedLink = ToolAnswers['link_status']['links'][number];

export interface LinkTable {
  readonly links: readonly ListedLink[];
  readonly token: string;
  /** The page to come back to; where it is that of a file, the links need no names. */
  readonly back: string;
  readonly hasNames: boolean;
}

export const renderLinkTable = ({ links, token, back, hasNames }: LinkTable): Html =>
  html`<div class="scroll list" tabindex="0" role="region" aria-label="Links">
    <table>
      <thead>
        <tr>
          ${hasNames ? html`<th scope="col">To</th>` : nothing}
          <th scope="col">State</th>
          <th scope="col">Made (UTC)</th>
          <th scope="col">Until (UTC)</th>
          <th scope="col">Downloads</th>
          <th scope="col">Last use (UTC)</th>
          <th scope="col" class="do">End</th>
        </tr>
      </thead>
      <tbody>
        ${links.map((link) => renderLinkRow(link, { token, back, hasNames }))}
      </tbody>
    </table>
  </div>`;

function renderLinkRow(link: ListedLink, { token, back, hasNames }: Omit<LinkTable, 'links'>): Html {
  const isActive = link.state === 'active';
  return html`<tr>
    ${hasNames ? html`<td>${renderTarget(link)}</td>` : nothing}
    <td>
      <span class="state ${isActive ? 'good' : ''}">${link.state}</span
      >${link.singleUse ? ', works once' : nothing}
    </td>
    <td>${renderShortTime(link.createdAt)}</td>
    <td>${renderShortTime(link.expiresAt)}</td>
    <td class="number">${link.downloads}</td>
    <td>${link.lastUsedAt === null ? 'never' : renderShortTime(link.lastUsedAt)}</td>
    <td class="do">
      ${
        isActive
          ? renderAction('/library/links/revoke', 'Revoke', token, 'small', {
              link: link.link_id,
              back,
              label: `Revoke the link to ${link.filename ?? link.link_id} made ${link.createdAt.slice(0, 16)}`,
            })
          : nothing
      }
    </td>
  </tr>`;
}

function renderTarget({ file_id, filename, state }: ListedLink): Html {
  if (file_id !== null && filename !== null) return html`<a href="/library/${file_id}">${filename}</a>`;
  return html`${filename ?? (state === 'gone' ? 'a deleted file' : 'a file of a crate')}`;
}

const linksOnPage = 50;

/** Where a change may lead back to: pages of the library alone. */
const backForm = /^\/library(?:\/links|\/file_[0-9a-f]{24})?$/;

export function addLinkRoutes(routes: Hono, { tools, show, change }: Routing): void {
  routes.get(
    '/library/links',
    show('/library', 'Links', async (visitor, token, { req }) => {
      const { after = '' } = req.query();
      const wanted = { limit: linksOnPage, ...(after !== '' && { after }) };
      const { links, next } = await tools.call(visitor, 'link_status', wanted);
      return html`${renderTabs('/library/links')}
        <h1>Links</h1>
        ${
          links.length === 0
            ? html`<p class="muted">There are no links. Open a file to share it.</p>`
            : renderLinkTable({ links, token, back: '/library/links', hasNames: true })
        }
        ${next === null ? nothing : html`<p><a rel="next" href="?after=${encodeURIComponent(next)}">Older links</a></p>`}`;
    }),
  );
  routes.post(
    '/library/links/revoke',
    change('/library', async (visitor, form) => {
      await tools.call(visitor, 'revoke_link', { token: form.get('link') });
      const back = form.get('back');
      return typeof back === 'string' && backForm.test(back) ? back : '/library/links';
    }),
  );
}
