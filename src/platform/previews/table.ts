/** Tables of comma- or tab-separated values: their first rows and columns, as HTML. */
import { html, nothing, type Html } from '../html/html.ts';

const maxPreviewedRows = 200;
const maxPreviewedColumns = 50;
const maxPreviewedCellCharacters = 300;

export interface TableText {
  readonly text: string;
  /** Whether the file has more than this text. */
  readonly isCut: boolean;
  readonly separator: ',' | '\t' | ';';
}

/** The table with its first row as headings. */
export function renderCsvTable({ text, isCut, separator }: TableText): Html {
  const rows = parseCsvRows(text, separator, maxPreviewedRows + 2);
  // The last row of a text that is cut is a part of one.
  if (isCut && rows.length <= maxPreviewedRows + 1) rows.pop();
  const [head = [], ...body] = rows.slice(0, maxPreviewedRows + 1);
  const width = rows.reduce((widest, row) => Math.max(widest, row.length), 0);
  const isWhole = !isCut && rows.length <= maxPreviewedRows + 1 && width <= maxPreviewedColumns;
  return html`<figure>
    <div class="scroll" tabindex="0" role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            ${head.slice(0, maxPreviewedColumns).map((cell) => html`<th scope="col">${cell}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${body.map(
            (row) =>
              html`<tr>
                ${row.slice(0, maxPreviewedColumns).map(renderTableCell)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${isWhole ? nothing : html`<figcaption>${describeTableCut(body.length, width)}</figcaption>`}
  </figure>`;
}

const renderTableCell = (cell: string): Html =>
  /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(cell)
    ? html`<td class="number">${cell}</td>`
    : html`<td>${cell}</td>`;

function describeTableCut(rows: number, width: number): string {
  const columns =
    width > maxPreviewedColumns ? ` and the first ${maxPreviewedColumns} of at least ${width} columns` : '';
  return `The first ${rows} rows${columns}. Download the file for all of it.`;
}

/** The separator that the first line has most of. */
export function findSeparator(text: string): TableText['separator'] {
  const [line = ''] = text.slice(0, 10_000).split('\n', 1);
  const count = (mark: string): number => line.split(mark).length;
  if (count('\t') > count(',') && count('\t') >= count(';')) return '\t';
  return count(';') > count(',') ? ';' : ',';
}

/** Rows as RFC 4180 has them: quoted fields may contain separators, line ends and doubled quotes. */
export function parseCsvRows(text: string, separator: string, most: number): string[][] {
  const rows: string[][] = [];
  let [row, at] = [[] as string[], 0];
  while (at < text.length && rows.length < most) {
    const field = text[at] === '"' ? readQuoted(text, at) : readPlain(text, at, separator);
    row.push(field.value.slice(0, maxPreviewedCellCharacters));
    at = field.end;
    if (text[at] === separator) {
      at++;
      if (at === text.length) row.push('');
      continue;
    }
    at += text.startsWith('\r\n', at) ? 2 : 1;
    rows.push(row);
    row = [];
  }
  if (row.length > 0 && rows.length < most) rows.push(row);
  return rows;
}

interface CsvField {
  readonly value: string;
  /** Where the separator, the line end or the end of the text is. */
  readonly end: number;
}

function readPlain(text: string, start: number, separator: string): CsvField {
  let end = start;
  while (end < text.length && text[end] !== separator && text[end] !== '\n' && text[end] !== '\r') end++;
  return { value: text.slice(start, end), end };
}

function readQuoted(text: string, start: number): CsvField {
  let [value, from] = ['', start + 1];
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote === -1) return { value: value + text.slice(from), end: text.length };
    value += text.slice(from, quote);
    if (text[quote + 1] !== '"') {
      const rest = /[^,;\t\r\n]*/y;
      rest.lastIndex = quote + 1;
      const after = rest.exec(text)![0];
      return { value: value + after, end: quote + 1 + after.length };
    }
    value += '"';
    from = quote + 2;
  }
}
