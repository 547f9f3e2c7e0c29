/** The part of views that shows a file: a table with sorting, filter and pages, a picture or a text. */
import { make } from '../../platform/html/elements.browser.ts';
import { formatCount, countThings } from '../../platform/text/text.ts';
import { host, isObject, toList, toText, type Untrusted } from './host.browser.ts';
import { makeBlock, makeButton, makeFailure, makePicture, makeStatus } from './view.browser.ts';

const maxRowsShown = 50;
const filterPauseMs = 250;

/** A file that a tool of this server shows. */
export interface ShownSource {
  readonly tool: 'view_artifact' | 'view_crate_file' | 'view_file';
  readonly given: Readonly<Record<string, unknown>>;
}

interface WantedRows {
  offset: number;
  sort: number | null;
  descending: boolean;
  filter: string;
}

export function makeFilePanel(source: ShownSource, whenKnown: (file: Untrusted) => void = () => {}) {
  const panel = make('div', { class: 'panel' }, makeStatus('Loading …'));
  const wanted: WantedRows = { offset: 0, sort: null, descending: false, filter: '' };
  let turn = 0;

  async function load(change: Partial<WantedRows> = {}): Promise<void> {
    Object.assign(wanted, change);
    const mine = ++turn;
    panel.setAttribute('aria-busy', 'true');
    try {
      const file = await host.call(source.tool, { ...source.given, ...toRowsInput(wanted) });
      if (mine !== turn) return;
      whenKnown(file);
      showFile(file);
    } catch (error) {
      if (mine === turn) panel.replaceChildren(makeFailure(error));
    } finally {
      panel.removeAttribute('aria-busy');
    }
  }

  function showFile(file: Untrusted): void {
    const note =
      toText(file.note) === '' ? null : make('p', { class: 'muted small-text' }, toText(file.note));
    if (file.kind === 'table' && isObject(file.table)) return showTable(file.table, note);
    panel.replaceChildren(...[makeBody(file), note].filter((part) => part !== null));
  }

  function showTable(table: Untrusted, note: HTMLElement | null): void {
    const shown = panel.querySelector('.rows');
    const rows = makeRows(table, wanted, load);
    const parts = [rows, makePager(table, load), note].filter((part) => part !== null);
    if (shown !== null) return replaceRows(shown, parts);
    panel.replaceChildren(makeFilter(load), make('div', { class: 'rows' }, parts));
  }

  void load();
  return panel;
}

type LoadRows = (change: Partial<WantedRows>) => Promise<void>;

const toRowsInput = ({ offset, sort, descending, filter }: WantedRows) => ({
  offset,
  limit: maxRowsShown,
  ...(sort !== null && { sort, descending }),
  ...(filter !== '' && { filter }),
});

function makeBody(file: Untrusted): HTMLElement | null {
  if (file.kind === 'picture') return makePicture(toText(file.picture), toText(file.filename));
  return file.kind === 'text' ? makeBlock(toText(file.text), { 'aria-label': 'Text of the file' }) : null;
}

/** The place in the table and the focus stay where they were. */
function replaceRows(shown: Element, parts: readonly HTMLElement[]): void {
  const left = shown.querySelector('.scroll')?.scrollLeft ?? 0;
  const focused = document.activeElement;
  const key = focused instanceof HTMLElement && shown.contains(focused) ? focused.dataset.key : undefined;
  shown.replaceChildren(...parts);
  shown.querySelector('.scroll')!.scrollLeft = left;
  if (key === undefined) return;
  [...shown.querySelectorAll('button')].find(({ dataset }) => dataset.key === key)?.focus();
}

function makeFilter(load: LoadRows): HTMLElement {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const search = make('input', {
    type: 'search',
    'aria-label': 'Only rows with this text',
    placeholder: 'Only rows with …',
    maxlength: '200',
  });
  search.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => void load({ filter: search.value, offset: 0 }), filterPauseMs);
  });
  return make('div', { class: 'tools' }, search);
}

const isNumber = (text: string): boolean => /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(text);

function makeRows(table: Untrusted, wanted: WantedRows, load: LoadRows): HTMLElement {
  const columns = toList(table.columns).map(toText);
  const rows = toList(table.rows).map((row) => toList(row).map(toText));
  const width = Math.max(columns.length, ...rows.map((row) => row.length));
  const positions = Array.from({ length: width }, (_, at) => at);
  const numeric = positions.map(
    (at) => rows.length > 0 && rows.every((row) => (row[at] ?? '') === '' || isNumber(row[at]!)),
  );
  const head = columns.map((name, at) => makeHeading({ name, at, isNumeric: numeric[at]! }, wanted, load));
  const body = rows.map((row) =>
    make(
      'tr',
      {},
      positions.map((at) => makeCell(row[at] ?? '', numeric[at]!)),
    ),
  );
  const none =
    rows.length > 0
      ? null
      : make('tr', {}, make('td', { class: 'muted', colspan: Math.max(1, width) }, 'No row fits.'));
  return make(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table' },
    make('table', {}, make('thead', {}, make('tr', {}, head)), make('tbody', {}, body, none)),
  );
}

const makeCell = (text: string, isNumeric: boolean): HTMLElement =>
  make('td', { class: isNumeric ? 'number' : null, title: text.length > 40 ? text : null }, text);

interface Column {
  readonly name: string;
  readonly at: number;
  readonly isNumeric: boolean;
}

/** Sorts by its column when it is pressed, then the other way round, then not any more. */
function makeHeading({ name, at, isNumeric }: Column, wanted: WantedRows, load: LoadRows): HTMLElement {
  const { descending } = wanted;
  const isSorted = wanted.sort === at;
  const order = isSorted ? (descending ? 'descending' : 'ascending') : 'none';
  const next = {
    sort: isSorted && descending ? null : at,
    descending: isSorted && !descending,
    offset: 0,
  };
  const sort = make(
    'button',
    { type: 'button', class: 'sort', 'data-key': `sort-${at}` },
    name === '' ? `column ${at + 1}` : name,
    make(
      'span',
      { 'aria-hidden': 'true', class: 'arrow' },
      { descending: '↓', ascending: '↑', none: '' }[order],
    ),
  );
  sort.addEventListener('click', () => void load(next));
  return make('th', { scope: 'col', class: isNumeric ? 'number' : null, 'aria-sort': order }, sort);
}

function makePager(table: Untrusted, load: LoadRows): HTMLElement {
  const [from, total, matching] = [table.offset, table.total, table.matching].map(
    (one) => Number(one) || 0,
  ) as [number, number, number];
  const to = from + toList(table.rows).length;
  const move = (by: number) => () => load({ offset: Math.max(0, from + by) });
  const all = countThings(total, 'row');
  const which = matching === total ? all : `${formatCount(matching)} of ${all}`;
  const isPart = to > from && (matching > to || from > 0);
  const words = isPart ? `${formatCount(from + 1)}–${formatCount(to)} of ${which}` : which;
  return make(
    'div',
    { class: 'pager' },
    make('span', { class: 'muted', role: 'status' }, words),
    make(
      'span',
      { class: 'row' },
      from > 0 ? makeButton('Previous', move(-maxRowsShown), { 'data-key': 'previous' }) : null,
      to < matching ? makeButton('Next', move(maxRowsShown), { 'data-key': 'next' }) : null,
    ),
  );
}

/** A button that shows a file below its entry in a list, and hides it again. */
export const makeLookButton = (entry: HTMLElement, source: ShownSource, name: string): HTMLElement =>
  makeButton(
    'Look',
    (button) => {
      const panel = entry.querySelector('.panel');
      if (panel === null) entry.append(makeFilePanel(source));
      else panel.remove();
      button.setAttribute('aria-expanded', String(panel === null));
    },
    { 'aria-expanded': 'false', 'aria-label': `Look into ${name}` },
  );
