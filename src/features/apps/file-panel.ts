/** The part of views that shows a file: a table with sorting, filter and pages, a picture or a text. It runs in the frame of a host. */
export const filePanel = String.raw`
const rowsOnPage = 50;

/** A file that a tool of this server shows; source is { tool, given }. */
function makeFilePanel(source, whenKnown = () => {}) {
  const panel = make('div', { class: 'panel' }, say('Loading …'));
  const wanted = { offset: 0, sort: null, descending: false, filter: '' };
  let turn = 0;

  async function load() {
    const mine = ++turn;
    const { offset, sort, descending, filter } = wanted;
    const rows = { offset, limit: rowsOnPage, ...(sort === null ? {} : { sort, descending }), ...(filter === '' ? {} : { filter }) };
    panel.setAttribute('aria-busy', 'true');
    try {
      const file = await host.call(source.tool, { ...source.given, ...rows });
      if (mine !== turn) return;
      whenKnown(file);
      showFile(file);
    } catch (error) {
      if (mine === turn) panel.replaceChildren(sayFailure(error));
    } finally {
      panel.removeAttribute('aria-busy');
    }
  }

  function showFile(file) {
    const note = toText(file.note) === '' ? null : make('p', { class: 'muted small-text' }, toText(file.note));
    if (file.kind === 'table' && isObject(file.table)) return showTable(file.table, note);
    const body =
      file.kind === 'picture' ? picture(toText(file.picture), toText(file.filename))
      : file.kind === 'text' ? block(toText(file.text), { 'aria-label': 'Text of the file' })
      : null;
    panel.replaceChildren(...[body, note].filter((part) => part !== null));
  }

  function showTable(table, note) {
    const filled = panel.querySelector('.rows');
    const parts = [makeRows(table), makePager(table), note].filter((part) => part !== null);
    if (filled !== null) return refill(filled, parts);
    panel.replaceChildren(makeFilter(), make('div', { class: 'rows' }, parts));
  }

  /** The place in the table and the focus stay where they were. */
  function refill(filled, parts) {
    const left = filled.querySelector('.scroll')?.scrollLeft ?? 0;
    const key = filled.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    filled.replaceChildren(...parts);
    filled.querySelector('.scroll').scrollLeft = left;
    if (key !== undefined) [...filled.querySelectorAll('button')].find(({ dataset }) => dataset.key === key)?.focus();
  }

  function makeFilter() {
    let timer = 0;
    const search = make('input', {
      type: 'search', 'aria-label': 'Only rows with this text', placeholder: 'Only rows with …', maxlength: '200',
      input() {
        clearTimeout(timer);
        timer = setTimeout(() => { Object.assign(wanted, { filter: search.value, offset: 0 }); load(); }, 250);
      },
    });
    return make('div', { class: 'tools' }, search);
  }

  function makeRows(table) {
    const columns = toList(table.columns).map(toText);
    const rows = toList(table.rows).map((row) => toList(row).map(toText));
    const isNumber = (text) => /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(text);
    const numeric = columns.map((_, at) => rows.length > 0 && rows.every((row) => (row[at] ?? '') === '' || isNumber(row[at])));
    const head = columns.map((name, at) => makeHeading(name, at, numeric[at]));
    const width = Math.max(columns.length, ...rows.map((row) => row.length));
    const body = rows.map((row) => make('tr', null, Array.from({ length: width }, (_, at) =>
      make('td', { class: numeric[at] ? 'number' : null, title: (row[at] ?? '').length > 40 ? row[at] : null }, row[at] ?? ''))));
    const none = rows.length === 0 ? make('tr', null, make('td', { class: 'muted', colspan: String(Math.max(1, width)) }, 'No row fits.')) : null;
    return make('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table' },
      make('table', null, make('thead', null, make('tr', null, head)), make('tbody', null, body, none)));
  }

  function makeHeading(name, at, isNumeric) {
    const isSorted = wanted.sort === at;
    const arrow = isSorted ? (wanted.descending ? '↓' : '↑') : '';
    const sortBy = () => {
      const next = !isSorted ? { sort: at, descending: false } : wanted.descending ? { sort: null, descending: false } : { sort: at, descending: true };
      Object.assign(wanted, next, { offset: 0 });
      load();
    };
    return make('th', { scope: 'col', class: isNumeric ? 'number' : null, 'aria-sort': isSorted ? (wanted.descending ? 'descending' : 'ascending') : 'none' },
      make('button', { type: 'button', class: 'sort', 'data-key': 'sort-' + at, click: sortBy },
        name === '' ? 'column ' + (at + 1) : name, make('span', { 'aria-hidden': 'true', class: 'arrow' }, arrow)));
  }

  function makePager({ offset, matching, total, rows }) {
    const [from, count] = [Number(offset) || 0, toList(rows).length];
    const move = (by) => () => { wanted.offset = Math.max(0, from + by); load(); };
    const all = matching === total ? formatCount(total, 'row', 'rows') : Number(matching).toLocaleString('en') + ' of ' + formatCount(total, 'row', 'rows');
    const where = count === 0 ? all : (from + 1).toLocaleString('en') + '–' + (from + count).toLocaleString('en') + ' of ' + all;
    return make('div', { class: 'pager' },
      make('span', { class: 'muted', role: 'status' }, matching > count || from > 0 ? where : all),
      make('span', { class: 'row' },
        from > 0 ? button('Previous', move(-rowsOnPage), { 'data-key': 'previous' }) : null,
        from + count < matching ? button('Next', move(rowsOnPage), { 'data-key': 'next' }) : null));
  }

  load();
  return panel;
}

/** A button that shows a file below its entry in a list, and hides it again. */
const makeLook = (item, source, name) =>
  button('Look', ({ currentTarget }) => {
    const panel = item.querySelector('.panel');
    if (panel === null) item.append(makeFilePanel(source));
    else panel.remove();
    currentTarget.setAttribute('aria-expanded', String(panel === null));
  }, { 'aria-expanded': 'false', 'aria-label': 'Look into ' + name });
`;
