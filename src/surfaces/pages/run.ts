/**
 * One run: how it ended, its code, what it printed (as it comes), what it came to (values, tables, figures), its files
 * before and after, its limits, and what can be done with it. Pictures come by routes of their own (`pictures.ts`), and
 * tables of HTML as text.
 */
import type { Files } from '../../core/files/files.ts';
import {
  describeUnknownInputs,
  describeUnnamedChanges,
  explainEnd,
  isPictureName,
  listLimits,
  nameRun,
  toArtifactName,
} from '../../core/runs/describe-run.ts';
import type { OutputPieces } from '../../core/runs/executions.ts';
import type { ShownRun } from '../../core/runs/schema.ts';
import { renderCode } from '../../platform/html/highlight.ts';
import { type Html, html, nothing } from '../../platform/html/html.ts';
import { collectText } from '../../platform/streams.ts';
import { formatBytes, formatDuration } from '../../platform/text/text.ts';
import { renderAction, renderConnectionNote, renderList, renderShortTime, renderState } from './frame.ts';
import { readHtmlTable, type TableRows } from './html-table.ts';
import type { Visitor } from './routing.ts';

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

const mostNames = 200;
const mostPictures = 8;

function renderFilesBefore({ inputs, known_inputs: known, input_notes: notes, ...run }: ShownRun): Html {
  const isUnsure = run.inputs_may_be_incomplete && run.end_reason !== 'running';
  if (inputs.length + known.length === 0) return html`${nothing}`;
  return html`<h2>Files before</h2>
    ${renderList(
      'Files before',
      ['Name', 'How it came', 'Size', 'SHA-256'],
      [
        ...inputs.map((input) => [
          input.name,
          describeOrigin(input),
          formatBytes(input.size),
          renderHash(input.sha256),
        ]),
        ...known.map(({ path, size, sha256, how, made_by }) => [
          path,
          made_by === null ? how : html`${how}, made by <a href="/runs/${made_by}">an earlier run</a>`,
          formatBytes(size),
          renderHash(sha256),
        ]),
      ].map(renderFileRow),
    )}
    ${describeUnknownInputs(isUnsure, notes).map(renderNote)}`;
}

function describeOrigin({ origin, file_id }: ShownRun['inputs'][number]): Html {
  if (origin?.['crate_id'] !== undefined)
    return html`given, of <a href="/crates/${origin['crate_id']}">a crate</a>: ${origin['path']}`;
  if (origin?.['client_path'] !== undefined) return html`given, of the client: ${origin['client_path']}`;
  return file_id === null ? html`given` : html`given, a stored file`;
}

const renderNote = (note: string): Html => html`<p class="muted">${note}</p>`;

const renderHash = (sha256: string | null): Html =>
  sha256 === null ? html`not hashed` : html`<code title="${sha256}">${sha256.slice(0, 12)}…</code>`;

type MadeFile = NonNullable<ShownRun['result_files']>['files'][number];

function renderFilesAfter(run: ShownRun, token: string): Html {
  const { execution_id, artifacts, working_dir, result_files } = run;
  const { created, modified, deleted, complete } = artifacts;
  const changes = [
    ...created.map((name) => [name, 'created'] as const),
    ...modified.map((name) => [name, 'modified'] as const),
    ...deleted.map((name) => [name, 'deleted'] as const),
  ];
  if (changes.length === 0 && complete) return html`${nothing}`;
  const made = new Map(result_files?.files.map((file) => [file.path, file]));
  const pictures = [...made.values()].flatMap(({ path, sha256 }) => {
    const name = sha256 === null ? null : toArtifactName(path);
    return name !== null && isPictureName(name) ? [name] : [];
  });
  return html`<h2>Files after</h2>
    ${
      pictures.length === 0
        ? nothing
        : html`<div class="gallery">
            ${pictures.slice(0, mostPictures).map((name) => renderPicture(execution_id, name))}
          </div>`
    }
    ${
      changes.length === 0
        ? nothing
        : renderList(
            'Files after',
            ['Name', 'What happened', 'SHA-256', 'As the run left it', 'As it is now'],
            changes.slice(0, mostNames).map(([path, what]) => {
              const name = what === 'deleted' ? null : toArtifactName(path);
              const inside = path.startsWith('/') ? path : `${working_dir.replace(/\/+$/, '')}/${path}`;
              const file = made.get(inside) ?? null;
              return renderFileRow([
                path,
                html`<span class="change ${what}">${what}</span>`,
                what === 'deleted' ? '' : renderHash(file?.sha256 ?? null),
                what === 'deleted' ? '' : renderLeft(execution_id, file),
                name === null ? '' : renderArtifactButton(name, token),
              ]);
            }),
          )
    }
    ${changes.length > mostNames ? html`<p class="muted">And ${changes.length - mostNames} more.</p>` : nothing}
    ${describeUnnamedChanges(artifacts).map(renderNote)}`;
}

/** What it left in /tmp and in its home. */
function renderTemporaryFiles({ temporary_files: left, session_id }: ShownRun): Html {
  if (left === null || (left.files.length === 0 && left.complete)) return html`${nothing}`;
  const more = left.more > 0 ? `And ${left.more} more. ` : '';
  const unseen = left.complete ? '' : 'There may be more: not all could be looked at. ';
  return html`<h2>Not kept</h2>
    ${renderList(
      'Not kept',
      ['Name', 'Size'],
      left.files.map(({ path, size }) => renderFileRow([path, formatBytes(size)])),
    )}
    <p class="muted">
      ${more}${unseen}Files in /tmp and ~ are gone with the ${session_id === null ? 'run' : 'session'}; what
      is to stay has to be written to /artifacts.
    </p>`;
}

/** Its bytes, or why there are none. The tool lists the first of them alone. */
function renderLeft(id: string, file: MadeFile | null): Html {
  if (file === null) return html`<span class="muted">not known</span>`;
  const { path, note } = file;
  if (note !== null) return html`<span class="muted">${note}</span>`;
  return html`<a href="/runs/${id}/made?path=${encodeURIComponent(path)}" download>Download</a>`;
}

/** As the run left it: the address gives no other bytes. */
const renderPicture = (id: string, name: string): Html =>
  html`<figure class="outcome">
    <div class="picture">
      <img loading="lazy" src="/runs/${id}/pictures/${encodeURIComponent(name)}" alt="${name}" />
    </div>
    <figcaption>${name}</figcaption>
  </figure>`;

const renderFileRow = (cells: readonly (Html | string)[]): Html =>
  html`<tr>
    ${cells.map((cell) => html`<td>${cell}</td>`)}
  </tr>`;

/** Makes a link and shows its page. */
export const renderArtifactButton = (name: string, token: string): Html =>
  html`<form method="post" action="/library/artifact">
    <input type="hidden" name="token" value="${token}" />
    <input type="hidden" name="name" value="${name}" />
    <button class="quiet small" aria-label="Open ${name}">Open</button>
  </form>`;

export interface ResultViewOptions {
  readonly files: Pick<Files, 'find' | 'open'>;
  readonly visitor: Visitor;
  readonly token: string;
}

type ShownResult = ShownRun['results'][number];
type Part = ShownResult['parts'][number];

const maxTableBytes = 256 * 1024;

/** What an `img` shows: never a document of its own. */
const isPictureType = (mime: string): boolean => /^image\/(?:png|jpeg|gif|webp|svg\+xml)$/.test(mime);

export async function renderResults(
  options: ResultViewOptions,
  { execution_id, results, more_results }: Pick<ShownRun, 'execution_id' | 'results' | 'more_results'>,
): Promise<Html> {
  const shown: Html[] = [];
  for (const [at, result] of results.entries())
    shown.push(await renderResult(options, execution_id, result, at));
  return html`${shown}
  ${more_results === 0 ? nothing : html`<p class="muted">${more_results} more results were only counted.</p>`}`;
}

async function renderResult(
  options: ResultViewOptions,
  id: string,
  result: ShownResult,
  at: number,
): Promise<Html> {
  const picture = result.parts.findIndex(({ mime, file_id }) => file_id !== null && isPictureType(mime));
  const label = { value: 'Value', display: 'Displayed', figure: 'Figure' }[result.kind];
  const table = picture === -1 ? await readTable(options, result) : null;
  const body =
    picture !== -1
      ? html`<div class="picture">
          <img
            loading="lazy"
            src="/runs/${id}/results/${at}/${picture}"
            alt="${result.text.slice(0, 200) || label}"
          />
        </div>`
      : table !== null
        ? renderRows(table, label)
        : html`<pre tabindex="0" class="value">${result.text}${result.cut ? '…' : ''}</pre>`;
  const caption = [
    result.kind === 'value' && result.rows === null
      ? nothing
      : html`<span>${label}${describeShape(result)}</span>`,
    ...result.parts.map((part) => renderPart(part, options.token)),
  ].filter((piece) => piece !== nothing);
  return html`<figure class="outcome">
    ${body} ${caption.length === 0 ? nothing : html`<figcaption>${caption}</figcaption>`}
  </figure>`;
}

function describeShape({ rows, columns }: ShownResult): string {
  if (rows === null) return '';
  return columns === null ? `, ${rows} rows` : `, ${rows} rows × ${columns} columns`;
}

async function readTable(
  { files, visitor }: ResultViewOptions,
  { parts }: ShownResult,
): Promise<TableRows | null> {
  const part = parts.find(({ mime, size }) => mime === 'text/html' && size <= maxTableBytes);
  const file = part?.file_id ? await files.find(visitor.caller, part.file_id) : null;
  await using object = file && (await files.open(file));
  return object === null ? null : readHtmlTable(await collectText(object.read(0, object.size)));
}

const renderRows = ({ head, body }: TableRows, label: string): Html =>
  html`<div class="scroll" tabindex="0" role="region" aria-label="${label}">
    <table>
      ${
        head.length === 0
          ? nothing
          : html`<thead>
              <tr>
                ${head.map((cell) => (cell === '' ? html`<td></td>` : html`<th scope="col">${cell}</th>`))}
              </tr>
            </thead>`
      }
      <tbody>
        ${body.map(
          (row) =>
            html`<tr>
              ${row.map((cell) => html`<td class="${/^[-+]?[\d.,]+(?:e[-+]?\d+)?%?$/i.test(cell) ? 'number' : ''}">${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;

/** Its file, on the page of a link. */
const renderPart = ({ mime, size, file_id, problem }: Part, token: string): Html =>
  file_id === null
    ? html`<span>${mime} could not be stored: ${problem}</span>`
    : html`<form method="post" action="/library/share">
        <input type="hidden" name="token" value="${token}" />
        <input type="hidden" name="file" value="${file_id}" />
        <button class="link">${mime}, ${formatBytes(size)}</button>
      </form>`;

const mostListed = 100;

function renderFacts(run: ShownRun): Html {
  const { limits, network, guard, libraries } = run;
  const versions = Object.entries(libraries).map(([name, version]) => `${name} ${version}`);
  return html`<h2>About this run</h2>
    <dl class="about">
      ${renderFact('Limits', listLimits(limits).join(', '))}
      ${renderFact('Ran in', `${limits.runtime ?? run.language}, ${limits.sandbox}, ${run.working_dir}`)}
      ${limits.unenforced.length === 0 ? nothing : renderFact('Not enforced here', limits.unenforced.join(', '))}
      ${run.stdin_bytes === 0 ? nothing : renderFact('Standard input', formatBytes(run.stdin_bytes))}
      ${versions.length === 0 ? nothing : renderFact('Libraries', versions.join(', '))}
      ${run.script === null ? nothing : renderFact('Script', run.script)}
      ${run.trace_id === null ? nothing : renderFact('Trace', run.trace_id)}
      ${renderFact('Asked for by', run.tool)} ${renderFact('Id', html`<code>${run.execution_id}</code>`)}
      ${network === null ? nothing : renderFact('Network', renderNetwork(network))}
      ${(guard ?? []).map(({ when, verdict, rules, reason }) =>
        renderFact(
          `Guard, ${when}`,
          [verdict, ...rules.map(({ rule, count }) => `${rule} (${count})`), reason ?? '']
            .filter(Boolean)
            .join(', '),
        ),
      )}
    </dl>
    ${renderToolCalls(run.tool_calls)}`;
}

const renderFact = (name: string, value: Html | string): Html =>
  html`<dt>${name}</dt>
    <dd>${value}</dd>`;

function renderNetwork({ hosts, refused, more }: NonNullable<ShownRun['network']>): Html {
  if (hosts.length + refused.length === 0) return html`It spoke to nobody.`;
  return html`<ul class="plain">
    ${hosts
      .slice(0, mostListed)
      .map(
        ({ host, port, requests, sent_bytes, received_bytes }) =>
          html`<li>
            ${host}:${port}: ${requests} ${requests === 1 ? 'request' : 'requests'},
            ${formatBytes(sent_bytes)} sent, ${formatBytes(received_bytes)} received
          </li>`,
      )}
    ${refused
      .slice(0, mostListed)
      .map(
        ({ host, port, why, count }) =>
          html`<li>
            <span class="state bad">refused</span> ${host}${port === null ? '' : `:${port}`}, ${why}, ${count}
            ×
          </li>`,
      )}
    ${more === 0 ? nothing : html`<li>and ${more} more</li>`}
  </ul>`;
}

function renderToolCalls(called: ShownRun['tool_calls']): Html {
  if (called === null || called.count === 0) return html`${nothing}`;
  const { count, calls } = called;
  return html`<h2>Tools that its code called</h2>
    <ol class="calls">
      ${calls.map(
        ({ tool, outcome, ms }) =>
          html`<li>
            <code>${tool}</code> <span class="state ${outcome === 'ok' ? 'good' : 'bad'}">${outcome}</span>
            <span class="muted">${formatDuration(ms)}</span>
          </li>`,
      )}
    </ol>
    ${count > calls.length ? html`<p class="muted">And ${count - calls.length} more.</p>` : nothing}`;
}
