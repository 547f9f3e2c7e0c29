/** The audit log: its newest lines by user, operation, level and text, and whether it is as it was written. */
import { html, nothing, type Html } from '../../platform/html/html.ts';
import { renderList } from './frame.ts';
import type { VerifiedAudit } from './operate-access.ts';
import { renderSelect } from './runs.ts';
import type { ToolAnswers } from './tool-answers.ts';

export interface AuditFilter {
  readonly text: string;
  readonly user: string;
  readonly operation: string;
  readonly level: string;
}

export type ShownAuditLine = ToolAnswers['search_audit']['lines'][number];

export function renderAudit(
  lines: readonly ShownAuditLine[],
  next: string | null,
  filter: AuditFilter,
  isShared: boolean,
): Html {
  const given = Object.entries(filter).filter(([, value]) => value !== '');
  return html`<div class="head">
      <h1>Audit log</h1>
      <form method="get" action="/operate/audit/verify">
        <button class="quiet">Verify</button>
      </form>
    </div>
    <p class="muted">
      Verify reads the whole log, and finds lines that were changed, removed or added.
      ${isShared ? 'Each server has a log of its own: these are the lines of the one named above, and Verify reads its log alone.' : nothing}
    </p>
    <form class="filter" method="get" action="/operate/audit" role="search">
      <label>Text <input type="search" name="text" value="${filter.text}" maxlength="1000" /></label>
      <label>User <input type="search" name="user" value="${filter.user}" maxlength="200" /></label>
      <label
        >Operation <input type="search" name="operation" value="${filter.operation}" maxlength="200"
      /></label>
      <label>At least ${renderSelect('level', ['info', 'warning'], filter.level)}</label>
      <button>Filter</button>
      ${given.length === 0 ? nothing : html`<a href="/operate/audit">Show all</a>`}
    </form>
    ${
      lines.length === 0
        ? html`<p class="muted">${next === null ? 'No line fits.' : 'No line fits so far.'}</p>`
        : renderList(
            'Audit log',
            ['Time (UTC)', 'User', 'Operation', 'Result', 'Subject'],
            lines.map(renderLine),
          )
    }
    ${
      next === null
        ? nothing
        : html`<p>
            <a rel="next" href="?${new URLSearchParams([...given, ['before', next]])}">Older lines</a>
          </p>`
    }`;
}

function renderLine(line: ShownAuditLine): Html {
  const kind = line.result === 'ok' ? 'muted' : line.level === 'warning' ? 'state bad' : 'state going';
  const details = Object.entries({ ...(line.client !== null && { client: line.client }), ...line.details });
  return html`<tr>
    <td><time datetime="${line.time}">${line.time.slice(0, 10)} ${line.time.slice(11, 19)}</time></td>
    <td>${line.user}</td>
    <td>${line.operation}</td>
    <td>
      <span class="${kind}">${line.result}</span>
      ${line.intact ? nothing : html`<span class="state bad">changed after it was written</span>`}
    </td>
    <td class="wrap">
      ${line.subject ?? nothing}
      <span class="under">${details.map(([name, value]) => `${name} ${value}`).join(', ')}</span>
    </td>
  </tr>`;
}

const toSecond = (time: string): string => `${time.slice(0, 10)} ${time.slice(11, 19)} UTC`;

export function renderVerified({ ok, files, lines, first, last, problems, notes }: VerifiedAudit): Html {
  const count = `${lines} ${lines === 1 ? 'line' : 'lines'} in ${files} ${files === 1 ? 'file' : 'files'}`;
  return html`<h1>Audit log</h1>
    <section class="card" role="status">
      <h2 class="verdict state ${ok ? 'good' : 'bad'}">
        ${ok ? 'No line was changed, removed or added.' : 'The audit log is not as it was written.'}
      </h2>
      <p>
        ${count}${first && last ? html`, from line ${first.seq} of ${toSecond(first.time)} to line ${last.seq} of ${toSecond(last.time)}` : nothing}.
      </p>
      ${
        problems.length === 0
          ? nothing
          : html`<h3>What was found</h3>
              <ul>
                ${problems.map((problem) => html`<li>${problem}</li>`)}
              </ul>
              <p>
                Compare with a backup before you trust this log, and find out who can write to the data
                folder. What the messages mean is in docs/reference/audit.md.
              </p>`
      }
      ${notes.map((note) => html`<p class="note">${note}</p>`)}
      <div class="actions">
        <a class="button" href="/operate/audit/verify">Verify again</a>
        <a href="/operate/audit">Back to the lines</a>
      </div>
    </section>`;
}
