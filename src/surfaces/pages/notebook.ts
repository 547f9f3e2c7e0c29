/**
 * A session as a notebook: its cells with code, output and results, its checkpoints where they were saved, the sessions
 * that it was forked from and into, and what can be done with it.
 */
import type { OutputPieces } from '../../core/runs/executions.ts';
import { html, nothing, type Html } from '../../platform/html/html.ts';
import type { SessionOutline } from '../../core/runs/sessions/sessions.ts';
import { formatDuration } from '../../platform/text/text.ts';
import { renderAction, renderConnectionNote, renderShortTime, renderState } from './frame.ts';
import { renderCodeBlock, renderLiveOutput } from './run.ts';
import type { ShownRun } from '../../core/runs/schema.ts';

export interface CellView {
  readonly run: ShownRun;
  readonly isUndone: boolean;
  readonly results: Html;
  readonly live: OutputPieces | null;
}

export interface SessionView {
  readonly outline: SessionOutline;
  readonly cells: readonly CellView[];
  readonly token: string;
  /** Whether the last cells are shown, and not a page of earlier ones. */
  readonly isLatest: boolean;
  readonly hasEarlier: boolean;
}

const toIso = (time: number): string => new Date(time).toISOString();

export function renderSession(view: SessionView): Html {
  const { outline, token, isLatest, hasEarlier, cells } = view;
  const { record, isElsewhere } = outline;
  const first = cells[0]?.run.cell;
  return html`<p class="path"><a href="/sessions">Sessions</a></p>
    <h1>${record.name ?? record.id}</h1>
    <p class="facts">
      <span class="state ${record.state === 'open' ? 'good' : ''}">${record.state}</span>
      <span>${record.language}</span>
      <span>${record.cells} ${record.cells === 1 ? 'cell' : 'cells'}</span>
      <span>began ${renderShortTime(toIso(record.createdAt))} UTC</span>
      <span>last used ${renderShortTime(toIso(record.lastUsed))} UTC</span>
      <span><code>${record.id}</code></span>
    </p>
    ${record.end === null ? nothing : html`<p class="note">${record.end.text}</p>`}
    ${isElsewhere ? html`<p class="note">It is open on another server, which alone can use it.</p>` : nothing}
    ${renderSessionActions(outline, token)} ${renderRelatives(outline)} ${renderConnectionNote()}
    ${
      hasEarlier
        ? html`<nav class="pager" aria-label="Cells">
            <a rel="prev" href="?before=${first}">← Earlier cells</a>
          </nav>`
        : nothing
    }
    <div ${isLatest ? html`data-feed="/sessions/${record.id}/live"` : nothing}>${renderCells(view)}</div>
    ${isLatest ? nothing : html`<nav class="pager" aria-label="Cells"><a href="/sessions/${record.id}">Latest cells →</a></nav>`}`;
}

function renderSessionActions({ record, cells, isElsewhere }: SessionOutline, token: string): Html {
  const address = `/sessions/${record.id}`;
  const isHere = record.state === 'open' && !isElsewhere;
  // Only Python can go back.
  const canGoBack = isHere && record.language === 'python';
  return html`<div class="actions">
    ${canGoBack ? renderNamedAction(`${address}/checkpoint`, 'Save a checkpoint', 'Name of the checkpoint', token) : nothing}
    ${canGoBack ? renderNamedAction(`${address}/fork`, 'Fork', 'Name of the new session', token) : nothing}
    ${isHere ? renderAction(`${address}/interrupt`, 'Interrupt', token) : nothing}
    ${cells.length === 0 ? nothing : renderAction(`${address}/notebook`, 'Open as .ipynb', token)}
    ${isHere ? renderAction(`${address}/close`, 'Close', token) : nothing}
  </div>`;
}

/** A button with a name that may be given. */
const renderNamedAction = (path: string, label: string, nameLabel: string, token: string): Html =>
  html`<form class="named" method="post" action="${path}">
    <input type="hidden" name="token" value="${token}" />
    <input
      type="text"
      name="name"
      maxlength="64"
      pattern="[A-Za-z0-9][A-Za-z0-9._\\-]*"
      placeholder="name"
      aria-label="${nameLabel}"
    />
    <button class="quiet">${label}</button>
  </form>`;

/** Where it came from and what came of it. */
function renderRelatives({ forkedFrom, forks }: SessionOutline): Html {
  if (forkedFrom === null && forks.length === 0) return html`${nothing}`;
  return html`<ul class="tree">
    ${
      forkedFrom === null
        ? nothing
        : html`<li>
            Forked from <a href="/sessions/${forkedFrom.id}">${forkedFrom.name ?? forkedFrom.id}</a> after
            cell ${forkedFrom.cell}
          </li>`
    }
    ${forks.map(
      ({ id, name, cell }) =>
        html`<li>Forked into <a href="/sessions/${id}">${name ?? id}</a> after cell ${cell}</li>`,
    )}
  </ul>`;
}

/** What changes while the page is open. */
export function renderCells(view: SessionView): Html {
  const { outline, cells, isLatest } = view;
  const { checkpoints, record } = outline;
  const first = cells[0]?.run.cell ?? 0;
  const canRestore = record.state === 'open' && !outline.isElsewhere;
  const savedAt = (cell: number): Html[] =>
    checkpoints
      .filter((checkpoint) => checkpoint.cell === cell)
      .map(({ name, savedAt: time }) => renderCheckpoint({ name, cell, time, canRestore }, view));
  const saved = checkpoints.filter(({ cell }) => cell < first).map(({ cell }) => cell);
  return html`${cells.length === 0 ? html`<p class="empty">No cell has run yet.</p>` : nothing}
    <div class="notebook" data-rows>
      ${isLatest ? [...new Set(saved)].flatMap(savedAt) : nothing}
      ${cells.flatMap((cell) => [renderCell(cell), ...savedAt(cell.run.cell ?? -1)])}
    </div>`;
}

function renderCheckpoint(
  saved: {
    readonly name: string;
    readonly cell: number;
    readonly time: number;
    readonly canRestore: boolean;
  },
  { outline, token }: SessionView,
): Html {
  const { name, cell, time, canRestore } = saved;
  return html`<div class="checkpoint" id="checkpoint-${name}">
    <span>
      Checkpoint <strong>${name}</strong>, after cell ${cell}, saved ${renderShortTime(toIso(time))} UTC
    </span>
    ${
      canRestore
        ? html`<form method="post" action="/sessions/${outline.record.id}/restore">
            <input type="hidden" name="token" value="${token}" />
            <input type="hidden" name="name" value="${name}" />
            <button class="quiet small" aria-label="Go back to ${name}">Go back</button>
          </form>`
        : nothing
    }
  </div>`;
}

function renderCell({ run, isUndone, results, live }: CellView): Html {
  const isRunning = run.end_reason === 'running';
  // What a running cell prints comes by itself: without a version the cell would be replaced with every line.
  return html`<section
    class="cell ${isUndone ? 'undone' : ''}"
    id="${run.execution_id}"
    aria-label="Cell ${run.cell}"
    ${isRunning ? html`data-version="running"` : nothing}
  >
    <div class="mark">
      <a href="/runs/${run.execution_id}" aria-label="Run of cell ${run.cell}">[${run.cell}]</a>
    </div>
    <div>
      ${renderCodeBlock(run)} ${isRunning ? renderLiveOutput(run, live, 'stay') : renderCellOutput(run)}
      ${results}
      <p class="facts">
        ${renderState(run.end_reason, run.exit_code)}
        <span>${renderShortTime(run.started_at)} UTC</span>
        ${run.duration_ms === null ? nothing : html`<span>${formatDuration(run.duration_ms)}</span>`}
        ${isUndone ? html`<span>undone by going back</span>` : nothing}
        ${run.state === 'lost' ? html`<span>the session ended with it</span>` : nothing}
      </p>
    </div>
  </section>`;
}

const renderCellOutput = ({ stdout, stderr }: ShownRun): Html =>
  html`${stdout === '' ? nothing : html`<pre tabindex="0" class="output stdout">${stdout}</pre>`}
  ${stderr === '' ? nothing : html`<pre tabindex="0" class="output stderr">${stderr}</pre>`}`;
