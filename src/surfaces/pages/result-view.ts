/**
 * What a run came to, as a notebook shows it: values, tables, figures. Pictures come by a route of their own
 * (`pictures.ts`), tables of HTML as text; anything else can be opened as a file.
 */
import type { Files } from '../../core/files/files.ts';
import { html, nothing, type Html } from '../../platform/html/html.ts';
import { collectText } from '../../platform/streams.ts';
import { formatBytes } from '../../platform/text/text.ts';
import { readHtmlTable, type TableRows } from './html-table.ts';
import type { Visitor } from './page-tools.ts';
import type { ShownRun } from '../../core/runs/schema.ts';

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
