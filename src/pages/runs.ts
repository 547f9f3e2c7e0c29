/** The list of runs: filters, newest first, one page at a time however many there are. */
import { html, nothing, type Html } from '../html/html.ts';
import { formatDuration } from '../text.ts';
import { renderShortTime, renderState } from './frame.ts';

export interface ListedRun {
  readonly execution_id: string;
  readonly language: string;
  readonly code: string;
  readonly end_reason: string;
  readonly exit_code: number | null;
  readonly started_at: string;
  readonly duration_ms: number | null;
}

export interface RunFilter {
  readonly text: string;
  readonly language: string;
  readonly status: string;
}

const languages = ['python', 'node', 'bash'];
const statuses = ['ok', 'failed', 'running', 'timeout', 'oom', 'cancelled', 'lost'];

export function renderRuns(runs: readonly ListedRun[], next: string | null, filter: RunFilter): Html {
  const isFiltered = Object.values(filter).some((value) => value !== '');
  return html`<h1>Runs</h1>
    <form class="filter" method="get" action="/" role="search">
      <label>Text <input type="search" name="text" value="${filter.text}" /></label>
      <label>Language ${renderSelect('language', languages, filter.language)}</label>
      <label>State ${renderSelect('status', statuses, filter.status)}</label>
      <button>Filter</button>
    </form>
    ${runs.length === 0 ? renderNone(isFiltered) : renderTable(runs)}
    ${next === null ? nothing : html`<p><a rel="next" href="?${toQuery(filter, next)}">Older runs</a></p>`}`;
}

const renderNone = (isFiltered: boolean): Html =>
  isFiltered
    ? html`<p>No run fits. <a href="/">Show all</a></p>`
    : html`<section class="card">
        <h2>Nothing has run yet</h2>
        <p>
          <a href="/connect">Connect a client</a> and ask: “Simulate 40 random walks, plot them, and give me a
          link.”
        </p>
      </section>`;

const renderTable = (runs: readonly ListedRun[]): Html =>
  html`<div class="scroll list" tabindex="0" role="region" aria-label="Runs">
    <table>
      <thead>
        <tr>
          <th scope="col">Began (UTC)</th>
          <th scope="col">State</th>
          <th scope="col">Took</th>
          <th scope="col">Language</th>
          <th scope="col">Code</th>
        </tr>
      </thead>
      <tbody>
        ${runs.map(
          (run) =>
            html`<tr>
              <td><a href="/runs/${run.execution_id}">${renderShortTime(run.started_at)}</a></td>
              <td>${renderState(run.end_reason, run.exit_code)}</td>
              <td class="number">${run.duration_ms === null ? '' : formatDuration(run.duration_ms)}</td>
              <td>${run.language}</td>
              <td><code>${toFirstLine(run.code)}</code></td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;

export const renderSelect = (name: string, values: readonly string[], chosen: string): Html =>
  html`<select name="${name}">
    <option value="">any</option>
    ${values.map((value) => html`<option ${value === chosen ? html`selected` : nothing}>${value}</option>`)}
  </select>`;

function toQuery(filter: RunFilter, after: string): string {
  const given = Object.entries(filter).filter(([, value]) => value !== '');
  return new URLSearchParams([...given, ['after', after]]).toString();
}

export const toFirstLine = (code: string): string => {
  const line = code.trim().split('\n', 1)[0] ?? '';
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
};
