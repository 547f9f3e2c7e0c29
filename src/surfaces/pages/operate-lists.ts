/** Running code and links of all users, each with the button that ends it. */
import { html, nothing, type Html } from '../../platform/html/html.ts';
import type { LinkOfAll, LinksOfAll } from '../../core/links/links.ts';
import { countThings, formatCount, formatDuration } from '../../platform/text/text.ts';
import { renderAgo, renderList, renderMoment } from './frame.ts';
import type { RunOfAll } from './operate-access.ts';
import { toTellingLine } from './runs.ts';

export function renderRunsOfAll(
  runs: readonly RunOfAll[],
  isShared: boolean,
  token: string,
  now: number,
): Html {
  if (runs.length === 0)
    return html`<h1>Running code</h1>
      <p class="muted">
        Nothing runs now. What ran before is in the <a href="/operate/audit">audit log</a>.
      </p>`;
  return html`<h1>Running code</h1>
    <p class="facts">
      <span>${countThings(runs.length, 'run')}</span>
      <span>the longest first</span>
    </p>
    ${renderList(
      'Running code',
      [
        'User',
        'Code',
        'Language',
        ...(isShared ? ['Server'] : []),
        { number: 'For' },
        'Since (UTC)',
        { action: 'Do' },
      ],
      runs.map(
        (run) =>
          html`<tr>
            <th scope="row">${run.owner}</th>
            <td><code>${toTellingLine(run.code)}</code></td>
            <td>${run.language}${run.sessionId === null ? nothing : ', in a session'}</td>
            ${isShared ? html`<td class="wrap">${run.serverName}</td>` : nothing}
            <td class="number">${formatDuration(Math.max(0, now - run.startedAt))}</td>
            <td>${renderMoment(run.startedAt)}</td>
            <td class="do">
              ${renderEnd(`/operate/runs/${run.id}/end`, 'End', `the run ${run.id} of ${run.owner}`, token)}
            </td>
          </tr>`,
      ),
    )}`;
}

export function renderLinksOfAll(
  { links, next }: LinksOfAll,
  user: string,
  token: string,
  now: number,
): Html {
  const more = next === null ? null : new URLSearchParams({ ...(user !== '' && { user }), after: next });
  return html`<h1>Links</h1>
    <form class="filter" method="get" action="/operate/links" role="search">
      <label>User <input type="search" name="user" value="${user}" /></label>
      <button>Filter</button>
      ${user === '' ? nothing : html`<a href="/operate/links">Show all</a>`}
    </form>
    ${
      links.length === 0
        ? html`<p class="muted">${user === '' ? 'There are no links.' : 'This user has no links.'}</p>`
        : renderList(
            'Links',
            ['User', 'File', 'State', 'Made, until (UTC)', { number: 'Downloads' }, { action: 'Do' }],
            links.map((link) => renderLinkRow(link, user, token, now)),
          )
    }
    ${more === null ? nothing : html`<p><a rel="next" href="?${more}">Older links</a></p>`}
    <p class="muted">
      The id opens nothing: it is the name of a link in the <a href="/operate/audit">audit log</a>. A revoked
      link answers as if it had never been.
    </p>`;
}

function renderLinkRow(link: LinkOfAll, user: string, token: string, now: number): Html {
  const isActive = link.state === 'active';
  const back = html`<input type="hidden" name="user" value="${user}" />`;
  return html`<tr>
    <th scope="row">${link.owner}</th>
    <td>
      ${link.filename ?? html`<span class="muted">of a crate, or gone</span>`}
      <span class="under"><code>${link.id}</code></span>
    </td>
    <td>
      <span class="state ${isActive ? 'good' : ''}">${link.state}</span>
      ${link.singleUse ? html`<span class="under">once</span>` : nothing}
    </td>
    <td>${renderMoment(link.createdAt)}<span class="under">until ${renderMoment(link.expiresAt)}</span></td>
    <td class="number">
      ${formatCount(link.downloads)}
      <span class="under">${link.lastUsedAt === null ? 'never used' : renderAgo(link.lastUsedAt, now)}</span>
    </td>
    <td class="do">
      ${isActive ? renderEnd(`/operate/links/${link.id}/revoke`, 'Revoke', `the link ${link.id} of ${link.owner}`, token, back) : nothing}
    </td>
  </tr>`;
}

/** Its label names what it ends: a list has many of these buttons. */
const renderEnd = (
  path: string,
  label: string,
  what: string,
  token: string,
  more: Html | '' = nothing,
): Html =>
  html`<form method="post" action="${path}">
    <input type="hidden" name="token" value="${token}" />
    ${more}
    <button class="quiet small" aria-label="${label} ${what}">${label}</button>
  </form>`;
