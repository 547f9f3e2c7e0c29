/** One run: how it ended, its code, what it printed (as it comes), the files that it was given and left, and what can be done with it. */
import { html, nothing, type Html } from '../html/html.ts';
import { formatBytes, formatDuration } from '../text.ts';
import { renderAction, renderShortTime, renderState } from './frame.ts';
import type { ListedRun } from './runs.ts';

export interface ShownRun extends ListedRun {
  readonly working_dir: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly stdout_file: string | null;
  readonly stderr_file: string | null;
  readonly artifacts: { readonly created: readonly string[]; readonly modified: readonly string[] };
  readonly inputs: readonly { readonly name: string; readonly size: number; readonly sha256: string }[];
  readonly limits: {
    readonly sandbox: string;
    readonly runtime: string | null;
    readonly unenforced: readonly string[];
  };
  readonly session_id: string | null;
  readonly output: { readonly text: string; readonly next: number } | null;
}

/** What a page may offer to do with a run: only what its visitor may. */
export interface RunActions {
  readonly token: string;
  readonly mayPack: boolean;
  readonly mayRun: boolean;
}

export function renderRun(run: ShownRun, { token, mayPack, mayRun }: RunActions): Html {
  const isRunning = run.end_reason === 'running';
  const address = `/runs/${run.execution_id}`;
  return html`<p><a href="/">All runs</a></p>
    <h1>${run.language} run</h1>
    <p class="facts">
      <span id="state">${renderState(run.end_reason, run.exit_code)}</span>
      <span>began ${renderShortTime(run.started_at)} UTC</span>
      ${run.duration_ms === null ? nothing : html`<span>took ${formatDuration(run.duration_ms)}</span>`}
      <span>${run.limits.runtime ?? run.language} in ${run.limits.sandbox}</span>
      <span><code>${run.execution_id}</code></span>
    </p>
    <div class="actions">
      ${isRunning ? renderAction(`${address}/cancel`, 'End this run', token, 'plain') : nothing}
      ${!isRunning && mayRun && run.session_id === null ? renderAction(`${address}/again`, 'Run again', token) : nothing}
      ${!isRunning && mayPack ? renderAction(`${address}/pack`, 'Pack as a crate', token) : nothing}
      ${isRunning ? nothing : html`<a href="${address}/graph">How its files were made</a>`}
    </div>
    ${
      run.limits.unenforced.length === 0
        ? nothing
        : html`<p class="note">Not enforced on this machine: ${run.limits.unenforced.join(', ')}.</p>`
    }
    <h2>Code</h2>
    <pre tabindex="0"><code>${run.code}</code></pre>
    ${isRunning ? renderLive(run) : renderOutput(run)} ${renderFiles(run, token)}`;
}

const renderLive = (run: ShownRun): Html =>
  html`<h2>Output so far</h2>
    <pre tabindex="0" id="live" data-run="${run.execution_id}" data-from="${run.output?.next ?? 0}">
${run.output?.text ?? ''}</pre>
    <noscript><p class="muted">Load the page again to see more.</p></noscript>`;

function renderOutput(run: ShownRun): Html {
  const parts = [
    ['Output', run.stdout],
    ['Errors', run.stderr],
  ].filter(([, text]) => text !== '');
  if (parts.length === 0) return html`<p class="muted">It printed nothing.</p>`;
  return html`${parts.map(
    ([name, text]) =>
      html`<h2>${name}</h2>
        <pre tabindex="0">${text}</pre>`,
  )}
  ${run.truncated ? html`<p class="muted">The output was long, and is shown in part. All of it is among the files.</p>` : nothing}`;
}

function renderFiles({ artifacts, inputs }: ShownRun, token: string): Html {
  const made = [...artifacts.created, ...artifacts.modified];
  return html`${
    inputs.length === 0
      ? nothing
      : html`<h2>Given</h2>
          <ul>
            ${inputs.map(({ name, size }) => html`<li>${name}, ${formatBytes(size)}</li>`)}
          </ul>`
  }
  ${
    made.length === 0
      ? nothing
      : html`<h2>Files it left</h2>
          <ul class="files">
            ${made.map((name) => html`<li>${name} ${renderArtifactButton(name, token)}</li>`)}
          </ul>`
  }`;
}

/** Makes a link and shows its page. */
export const renderArtifactButton = (name: string, token: string): Html =>
  html`<form method="post" action="/library/artifact">
    <input type="hidden" name="token" value="${token}" />
    <input type="hidden" name="name" value="${name}" />
    <button class="quiet small" aria-label="Open ${name}">Open</button>
  </form>`;
