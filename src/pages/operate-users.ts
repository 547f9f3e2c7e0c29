/** Who uses the server, and who fills the disk: whoever takes most comes first. */
import { html, nothing, type Html } from '../html/html.ts';
import { formatBytes } from '../text.ts';
import { renderBar } from './bar.ts';
import { renderList, renderMoment } from './frame.ts';
import type { UserOfAll } from './operate-access.ts';

const kinds = [
  ['bytes', 'Stored files'],
  ['workspace', 'Workspace'],
  ['artifacts', 'Artifacts'],
  ['packages', 'Packages'],
  ['crates', 'Crates'],
] as const;

const shownUsers = 500;

/** All that is counted of a user. */
export const sumSpace = (user: UserOfAll): number =>
  kinds.reduce((sum, [kind]) => sum + (user[kind] ?? 0), 0);

export function renderUsers(users: readonly UserOfAll[]): Html {
  const all = users.reduce((sum, user) => sum + sumSpace(user), 0);
  if (users.length === 0)
    return html`<h1>Users</h1>
      <p class="muted">Nobody has used this server yet.</p>`;
  const largest = sumSpace(users[0]!);
  return html`<h1>Users</h1>
    <p class="facts">
      <span>${users.length === 1 ? '1 user' : `${users.length} users`}</span>
      <span>${formatBytes(all)} in all</span>
      <span>who takes most comes first</span>
    </p>
    ${renderList(
      'Users',
      [
        'User',
        { number: 'Takes' },
        'Share',
        ...kinds.map(([, name]) => ({ number: name })),
        { number: 'Quota' },
        { number: 'Links' },
        { number: 'Runs' },
        'Last use (UTC)',
      ],
      users.slice(0, shownUsers).map((user) => renderUser(user, all, largest)),
    )}
    ${users.length > shownUsers ? html`<p class="muted">And ${users.length - shownUsers} more, which take less.</p>` : nothing}
    <p class="muted">
      Quota is the share of the bytes and files that a user may store. “Unknown” is a folder with too many
      files to count here, or one that is closed to the server; <code>workcrate usage</code> counts more.
    </p>`;
}

function renderUser(user: UserOfAll, all: number, largest: number): Html {
  const sum = sumSpace(user);
  return html`<tr>
    <th scope="row"><a href="/operate/links?user=${encodeURIComponent(user.user)}">${user.user}</a></th>
    <td class="number"><strong>${formatBytes(sum)}</strong></td>
    <td class="share">
      ${renderBar(sum, largest)}<span class="muted">${all === 0 ? 0 : Math.round((sum / all) * 100)} %</span>
    </td>
    ${kinds.map(([kind]) => html`<td class="number">${formatKnown(user[kind])}</td>`)}
    <td class="number">${formatShare(user.bytes, user.mostBytes)}</td>
    <td class="number">${user.activeLinks}</td>
    <td class="number">${user.runs}</td>
    <td>${user.lastUseAt === null ? 'never' : renderMoment(user.lastUseAt)}</td>
  </tr>`;
}

const formatKnown = (bytes: number | null): string => (bytes === null ? 'unknown' : formatBytes(bytes));

const formatShare = (used: number, most: number): string => {
  const share = (used / most) * 100;
  return share > 0 && share < 1 ? '< 1 %' : `${Math.round(share)} %`;
};
