/** What became of a document: the PDF in a frame and a link for each format, or in words what is wrong and where. */
import { html, nothing, renderTime, type Html } from '../../platform/html/html.ts';
import { formatBytes } from '../../platform/text/text.ts';
import { toOwnPath } from './routing.ts';

export interface BuiltDocument {
  readonly artifacts: readonly {
    readonly format: string;
    readonly filename: string;
    readonly size: number;
    readonly downloadUrl: string;
    readonly expiresAt: string;
  }[];
  readonly failures: readonly { readonly format: string; readonly message: string }[];
  readonly warnings: readonly string[];
  readonly missingCitations: readonly string[];
}

/** What was typed. */
export interface TypedTexts {
  readonly text: string;
  readonly bibliography: string;
}

export function renderBuilt({ artifacts, failures, warnings, missingCitations }: BuiltDocument): Html {
  const pdf = artifacts.find(({ format }) => format === 'pdf');
  return html`<p role="status" class="state good">Built</p>
    ${
      pdf === undefined
        ? nothing
        : html`<div class="preview">
            <iframe
              src="${toOwnPath(pdf.downloadUrl)}?preview=1#navpanes=0&view=FitH"
              title="${pdf.filename}"
            ></iframe>
          </div>`
    }
    <ul class="files">
      ${artifacts.map(renderArtifact)}
    </ul>
    ${failures.map(({ format, message }) => html`<p class="note failed">${format} could not be built: ${message}</p>`)}
    ${
      missingCitations.length === 0
        ? nothing
        : html`<p class="note">No entry in the bibliography: ${listSome(missingCitations)}</p>`
    }
    ${renderWarnings(warnings)}`;
}

function renderArtifact({
  filename,
  size,
  downloadUrl,
  expiresAt,
}: BuiltDocument['artifacts'][number]): Html {
  const path = toOwnPath(downloadUrl);
  return html`<li>
    <span>
      <a href="${path}">${filename}</a>
      <span class="muted">${formatBytes(size)}, until ${renderTime(Date.parse(expiresAt))}</span>
    </span>
    <a class="button quiet small" href="${path}?download=1" download aria-label="Download ${filename}"
      >Download</a
    >
  </li>`;
}

const maxWarnings = 20;

function renderWarnings(warnings: readonly string[]): Html | '' {
  if (warnings.length === 0) return nothing;
  const left = warnings.length - maxWarnings;
  return html`<details open>
    <summary>Warnings (${warnings.length})</summary>
    <ul class="problems">
      ${warnings.slice(0, maxWarnings).map((warning) => html`<li>${warning}</li>`)}
      ${left > 0 ? html`<li class="muted">and ${left} more</li>` : nothing}
    </ul>
  </details>`;
}

const maxKeys = 20;

const listSome = (keys: readonly string[]): string =>
  keys.slice(0, maxKeys).join(', ') + (keys.length > maxKeys ? ` and ${keys.length - maxKeys} more` : '');

/** In words, with the lines that it is about where the message names one. */
export function renderFailure(draft: TypedTexts, message: string): Html {
  const line = /\bline (\d{1,7})\b/.exec(message)?.[1];
  const text = /^The bibliography\b/.test(message) ? draft.bibliography : draft.text;
  return html`<div class="note failed" role="alert">
      <p><strong>This could not be done.</strong> Your text is as it was.</p>
      <p>${message}</p>
    </div>
    ${line === undefined ? nothing : renderLines(text, Number(line))}`;
}

const maxShownLine = 300;

function renderLines(text: string, line: number): Html | '' {
  const lines = text.split('\n');
  if (line < 1 || line > lines.length) return nothing;
  const from = Math.max(1, line - 2);
  return html`<pre tabindex="0" aria-label="The lines around line ${line}">
${lines.slice(from - 1, line + 1).map((each, at) => {
      const number = from + at;
      const shown = `${String(number).padStart(5)}  ${each.slice(0, maxShownLine)}\n`;
      return number === line ? html`<mark>${shown}</mark>` : shown;
    })}</pre>`;
}

export interface CheckedCitations {
  readonly valid: boolean;
  readonly cited: number;
  readonly entries: number;
  readonly missing: readonly {
    readonly key: string;
    readonly count: number;
    readonly suggestions: readonly string[];
  }[];
  readonly unused: readonly string[];
  readonly duplicates: readonly string[];
}

export function renderCitations({ text }: TypedTexts, checked: CheckedCitations): Html {
  const { valid, cited, entries, missing, unused, duplicates } = checked;
  const words = valid ? 'Every key that is cited has an entry.' : 'Some keys have no entry.';
  return html`<div role="status">
      <p><strong class="state ${valid ? 'good' : 'bad'}">${words}</strong></p>
      <p class="muted">
        ${cited === 1 ? '1 key is' : `${cited} keys are`} cited, and the bibliography has
        ${entries === 1 ? '1 entry' : `${entries} entries`}.
      </p>
    </div>
    <ul class="problems">
      ${missing
        .slice(0, maxKeys)
        .map(
          ({ key, count, suggestions }) =>
            html`<li>
              <code>${key}</code>${describePlace(text, key)} has no
              entry${count > 1 ? `, and is cited ${count} times` : ''}.
              ${suggestions.length === 0 ? nothing : html`Did you mean ${listSome(suggestions)}?`}
            </li>`,
        )}
      ${missing.length > maxKeys ? html`<li class="muted">and ${missing.length - maxKeys} more</li>` : nothing}
      ${duplicates.length === 0 ? nothing : html`<li>More than one entry: ${listSome(duplicates)}</li>`}
      ${unused.length === 0 ? nothing : html`<li>Not cited: ${listSome(unused)}</li>`}
    </ul>`;
}

/** The line that cites it first. */
function describePlace(text: string, key: string): string {
  const at = text.indexOf(`@${key}`);
  return at === -1 ? '' : ` in line ${text.slice(0, at).split('\n').length}`;
}
