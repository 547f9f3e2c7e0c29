/** One run: how it ended, its code, what it printed (as it comes), what it came to, its files, and what can be done with it. */
import { renderCode } from '../../platform/html/highlight.ts';
import { html, nothing, type Html } from '../../platform/html/html.ts';
import { formatBytes, formatDuration } from '../../platform/text/text.ts';
import { explainEnd, nameRun } from '../../core/runs/describe-run.ts';
import type { OutputPieces } from '../../core/runs/executions.ts';
import type { ShownRun } from '../../core/runs/schema.ts';
import { renderAction, renderConnectionNote, renderShortTime, renderState } from './frame.ts';
import { renderFacts } from './run-facts.ts';
import { renderFilesAfter, renderFilesBefore, renderTemporaryFiles } from './run-files.ts';

/** What a page may offer to do with a run: only what its visitor may. */
export interface RunActions {
  readonly token: string;
  readonly mayPack: boolean;
  readonly mayRun: boolean;
}

export interface RunView extends RunActions {
  /** What it came to, rendered. */
  readonly results: Html;
  /** What it printed so far, where it runs on this server. */
  readonly live: OutputPieces | null;
}

const maxCodeCharacters = 256 * 1024;

export function renderRun(run: ShownRun, view: RunView): Html {
  const isRunning = run.end_reason === 'running';
  const explanation = explainEnd(run, run.artifacts);
  return html`<p class="path"><a href="/">Runs</a></p>
    <h1>${nameRun({ ...run, script: null })}</h1>
    <p class="facts">
      <span id="state" role="status">${renderState(run.end_reason, run.exit_code)}</span>
      <span>began ${renderShortTime(run.started_at)} UTC</span>
      ${run.duration_ms === null ? nothing : html`<span>took ${formatDuration(run.duration_ms)}</span>`}
      ${run.peak_memory_bytes === null ? nothing : html`<span>${formatBytes(run.peak_memory_bytes)} of memory</span>`}
      ${run.session_id === null ? nothing : html`<span>cell ${run.cell} of <a href="/sessions/${run.session_id}">a session</a></span>`}
    </p>
    ${explanation === null ? nothing : html`<p class="note failed">${explanation}</p>`}
    ${renderRunActions(run, view)}
    <h2>Code</h2>
    ${renderCodeBlock(run)}
    ${isRunning ? renderLive(run, view.live) : html`${renderOutput(run, view.token)} ${renderResultPart(run, view.results)}`}
    ${renderFilesBefore(run)} ${renderFilesAfter(run, view.token)} ${renderTemporaryFiles(run)}
    ${renderFacts(run)}`;
}

export const renderCodeBlock = ({ code, language }: Pick<ShownRun, 'code' | 'language'>): Html =>
  html`<pre tabindex="0" class="code">${renderCode(code.slice(0, maxCodeCharacters), language)}</pre>
    ${code.length > maxCodeCharacters ? html`<p class="muted">The first ${formatBytes(maxCodeCharacters)} of it.</p>` : nothing}`;

const renderResultPart = ({ results }: ShownRun, rendered: Html): Html =>
  results.length === 0
    ? html`${nothing}`
    : html`<h2>Results</h2>
        ${rendered}`;

function renderRunActions(run: ShownRun, { token, mayPack, mayRun }: RunActions): Html {
  const address = `/runs/${run.execution_id}`;
  if (run.end_reason === 'running')
    return html`<div class="actions">
      ${renderAction(`${address}/cancel`, 'End this run', token, 'plain')}
    </div>`;
  const mayRepeat = mayRun && run.session_id === null;
  return html`<div class="actions">
    ${mayRepeat ? renderAction(`${address}/again`, 'Run again', token) : nothing}
    ${mayRepeat && run.inputs.length > 0 ? renderAction(`${address}/again-without-files`, 'Run again without its files', token) : nothing}
    ${mayPack ? renderAction(`${address}/pack`, 'Pack as a crate', token) : nothing}
    <a href="${address}/graph">How its files were made</a>
  </div>`;
}

/** What a run prints, followed by the script of the page. */
export function renderLiveOutput(
  { execution_id, stdout, stderr }: Pick<ShownRun, 'execution_id' | 'stdout' | 'stderr'>,
  live: OutputPieces | null,
  atEnd: 'reload' | 'stay',
): Html {
  // Of a run on another server, what its row has.
  const pieces = live?.pieces ?? [
    { stream: 'stdout', text: stdout },
    { stream: 'stderr', text: stderr },
  ];
  const shown = pieces.filter(({ text }) => text !== '');
  return html`<pre
    tabindex="0"
    class="live"
    data-run="${execution_id}"
    data-from="${live?.next ?? 0}"
    data-end="${atEnd}"
  >
${shown.map(({ stream, text }) => html`<span class="${stream}">${text}</span>`)}</pre>`;
}

const renderLive = (run: ShownRun, live: OutputPieces | null): Html =>
  html`<h2>Output so far</h2>
    ${renderConnectionNote()} ${renderLiveOutput(run, live, 'reload')}
    <p class="muted legend"><span class="stderr">Errors</span> are marked.</p>
    <noscript><p class="muted">Load the page again to see more.</p></noscript>`;

function renderOutput(run: ShownRun, token: string): Html {
  const parts = [
    ['Output', 'stdout', run.stdout, run.stdout_file],
    ['Errors', 'stderr', run.stderr, run.stderr_file],
  ] as const;
  const printed = parts.filter(([, , text]) => text !== '');
  // What a run printed last is gone with its server.
  const isKnown = run.end_reason !== 'lost' || run.duration_ms !== null;
  if (printed.length === 0)
    return html`<h2>Output</h2>
      <p class="muted">${isKnown ? 'It printed nothing.' : 'No output was kept.'}</p>`;
  return html`${printed.map(
    ([name, stream, text, file]) =>
      html`<h2>${name}</h2>
        <pre tabindex="0" class="${stream}">${text}</pre>
        ${
          file === null
            ? nothing
            : html`<form class="more" method="post" action="/library/share">
                <input type="hidden" name="token" value="${token}" />
                <input type="hidden" name="file" value="${file}" />
                It was long, and is shown in part. <button class="link">Open all of it</button>
              </form>`
        }`,
  )}
  ${run.truncated && run.stdout_file === null && run.stderr_file === null ? html`<p class="muted">It was long, and is shown in part.</p>` : nothing}`;
}
