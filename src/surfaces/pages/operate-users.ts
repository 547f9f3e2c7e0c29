/** Who uses the server, and who fills the disk: whoever takes most comes first. */
import { html, nothing, type Html } from '../../platform/html/html.ts';
import { countThings, formatBytes } from '../../platform/text/text.ts';
import { programName } from '../../platform/program.ts';
import { renderBar } from './bar.ts';
import { renderAgo, renderList } from './frame.ts';
import type { UserOfAll } from './operate-access.ts';

const kinds = [
  ['bytes', 'Stored files'],
  ['artifacts', 'Artifacts'],
  ['workspace', 'Workspace'],
  ['packages', 'Packages'],
  ['crates', 'Crates'],
] as const;

const shownUsers = 500;

/** All that is counted of a user. */
export const sumSpace = (user: UserOfAll): number =>
  kinds.reduce((sum, [kind]) => sum + (user[kind] ?? 0), 0);

export function renderUsers(users: readonly UserOfAll[], now: number): Html {
  if (users.length === 0)
    return html`<h1>Users</h1>
      <p class="muted">Nobody has used this server yet.</p>`;
  const all = users.reduce((sum, user) => sum + sumSpace(user), 0);
  const heads = [
    'User',
    { number: 'Takes' },
    'Of all',
    ...kinds.map(([, name]) => ({ number: name })),
    'Last use',
  ];
  const rows = users.slice(0, shownUsers).map((user) => renderUser(user, all, now));
  return html`<h1>Users</h1>
    <p class="facts">
      <span>${countThings(users.length, 'user')}</span>
      <span>${formatBytes(all)} in all</span>
      <span>who takes most comes first</span>
    </p>
    ${renderList('Users', heads, rows)}
    ${users.length > shownUsers ? html`<p class="muted">And ${users.length - shownUsers} more, which take less.</p>` : nothing}
    <p class="muted">
      Folders are measured once a minute. “Unknown” is a folder with too many files to count here, or one that
      is closed to the server;
      <code>${programName} usage</code> counts more.
    </p>`;
}

function renderUser(user: UserOfAll, all: number, now: number): Html {
  const sum = sumSpace(user);
  const share = formatShare(sum, all);
  return html`<tr>
    <th scope="row">
      ${user.user}
      <span class="under"
        ><a href="/operate/links?user=${encodeURIComponent(user.user)}"
          >${countThings(user.activeLinks, 'link')}</a
        >, ${countThings(user.runs, 'run')}</span
      >
    </th>
    <td class="number"><strong>${formatBytes(sum)}</strong></td>
    <td>
      <div class="share">${renderBar(sum, all, 'share')}<span class="muted">${share}</span></div>
    </td>
    <td class="number">
      ${formatBytes(user.bytes)}
      <span class="under">${formatShare(user.bytes, user.mostBytes)} of quota</span>
    </td>
    ${kinds.slice(1).map(([kind]) => html`<td class="number">${formatKnown(user[kind])}</td>`)}
    <td>${user.lastUseAt === null ? 'never' : renderAgo(user.lastUseAt, now)}</td>
  </tr>`;
}

const formatKnown = (bytes: number | null): string => (bytes === null ? 'unknown' : formatBytes(bytes));

function formatShare(used: number, most: number): string {
  const share = most <= 0 ? 0 : (used / most) * 100;
  return share > 0 && share < 1 ? '< 1 %' : `${Math.round(share)} %`;
}
