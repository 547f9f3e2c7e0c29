/** The list of runs: filters, newest first, one page at a time however many there are, and live on the first one. */
import { html, nothing, type Html } from '../../platform/html/html.ts';
import { formatDuration } from '../../platform/text/text.ts';
import { describeState, type EndKind } from '../../core/runs/describe-run.ts';
import type { ListedRun } from '../../core/runs/schema.ts';
import { renderConnectionNote, renderShortTime, renderState } from './frame.ts';
import { renderTimeline } from './timeline.ts';

export interface RunFilter {
  readonly text: string;
  readonly language: string;
  readonly status: string;
  /** Days in UTC, both included. */
  readonly since: string;
  readonly until: string;
}

export interface RunPage {
  readonly runs: readonly ListedRun[];
  readonly filter: RunFilter;
  /** Where older and newer runs begin; null where there are none. */
  readonly older: string | null;
  readonly newer: string | null;
}

const languages = ['python', 'node', 'bash'];
const statuses = ['ok', 'failed', 'running', 'timeout', 'oom', 'cancelled', 'lost'];
const dayMs = 86_400_000;

/** The arguments of the search that a filter stands for. */
export function toSearch({ until, ...filter }: RunFilter): Record<string, string> {
  const end = Date.parse(until);
  const before = Number.isNaN(end) ? until : new Date(end + dayMs).toISOString();
  const given = Object.entries({ ...filter, until: before }).filter(([, value]) => value !== '');
  return Object.fromEntries(given);
}

/** A place in the list of runs, as the search takes it. */
export const toCursor = ({ started_at, execution_id }: ListedRun): string =>
  `${Date.parse(started_at)}-${execution_id}`;

export function renderRuns(page: RunPage): Html {
  const { filter, older, newer } = page;
  const isNewest = newer === null;
  return html`<h1>Runs</h1>
    <form class="filter" method="get" action="/" role="search">
      <label class="wide">Text <input type="search" name="text" value="${filter.text}" /></label>
      <label>Language ${renderSelect('language', languages, filter.language)}</label>
      <label>State ${renderSelect('status', statuses, filter.status)}</label>
      <label>From <input type="date" name="since" value="${filter.since}" /></label>
      <label>To <input type="date" name="until" value="${filter.until}" /></label>
      <button>Filter</button>
    </form>
    ${isNewest ? renderConnectionNote() : nothing}
    <div ${isNewest ? html`data-feed="/runs/live?${toQuery(filter)}"` : nothing}>${renderRunPart(page)}</div>
    ${
      older === null && newer === null
        ? nothing
        : html`<nav class="pager" aria-label="Pages">
            ${newer === null ? nothing : html`<a rel="prev" href="?${toQuery(filter, { before: newer })}">← Newer runs</a>`}
            ${newer === null ? nothing : html`<a href="?${toQuery(filter)}">Newest</a>`}
            ${older === null ? nothing : html`<a rel="next" href="?${toQuery(filter, { after: older })}">Older runs →</a>`}
          </nav>`
    }`;
}

/** What changes while the page is open. */
export function renderRunPart({ runs, filter }: Pick<RunPage, 'runs' | 'filter'>): Html {
  if (runs.length === 0) return renderNone(Object.values(filter).some((value) => value !== ''));
  return html`${renderTimeline(runs, Date.now())}
    <p class="muted" data-fresh="count">${countEnds(runs)}</p>
    <ol class="runs" data-rows>
      ${runs.map(renderRow)}
    </ol>`;
}

const renderNone = (isFiltered: boolean): Html =>
  isFiltered
    ? html`<p class="empty">No run fits. <a href="/">Show all</a></p>`
    : html`<section class="card">
        <h2>Nothing has run yet</h2>
        <p>
          <a href="/connect">Connect a client</a> and ask: “Simulate 40 random walks, plot them, and give me a
          link.”
        </p>
      </section>`;

const endWords: Readonly<Record<EndKind, string>> = { going: 'running', good: 'ok', bad: 'not ok' };

function countEnds(runs: readonly ListedRun[]): string {
  const kinds = runs.map((run) => describeState(run.end_reason, run.exit_code).kind);
  const counts = (['going', 'good', 'bad'] as const).flatMap((kind) => {
    const count = kinds.filter((other) => other === kind).length;
    return count === 0 ? [] : [`${count} ${endWords[kind]}`];
  });
  return `${runs.length} ${runs.length === 1 ? 'run' : 'runs'}: ${counts.join(', ')}`;
}

const renderRow = (run: ListedRun): Html =>
  html`<li id="${run.execution_id}">
    <a href="/runs/${run.execution_id}">
      ${renderState(run.end_reason, run.exit_code)}
      <code>${toTellingLine(run.code)}</code>
      <span class="muted">${run.language}</span>
      <span class="muted">${renderShortTime(run.started_at)}</span>
      <span class="muted took">${run.duration_ms === null ? '' : formatDuration(run.duration_ms)}</span>
    </a>
  </li>`;

export const renderSelect = (name: string, values: readonly string[], chosen: string): Html =>
  html`<select name="${name}">
    <option value="">any</option>
    ${values.map((value) => html`<option ${value === chosen ? html`selected` : nothing}>${value}</option>`)}
  </select>`;

function toQuery(filter: RunFilter, place: Readonly<Record<string, string>> = {}): string {
  const given = Object.entries({ ...filter, ...place }).filter(([, value]) => value !== '');
  return new URLSearchParams(given).toString();
}

const maxLineCharacters = 120;

/** The first line that says what the code is about: comments that say so count, imports do not. */
export function toTellingLine(code: string): string {
  const lines = code.split('\n').map((line) => line.trim());
  const isTelling = (line: string): boolean =>
    line !== '' && !/^(?:import|from|#!|set -|'use strict')/.test(line);
  const line = lines.find(isTelling) ?? lines.find((other) => other !== '') ?? '';
  return line.length > maxLineCharacters ? `${line.slice(0, maxLineCharacters - 1)}…` : line;
}
