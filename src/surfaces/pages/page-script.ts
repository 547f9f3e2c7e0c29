/**
 * The one script of these pages. It shows what a run prints as it comes, keeps lists up to date, and goes on by itself when
 * the connection was lost. A page that nobody looks at lets its connections go: a browser has only a few.
 */

// outbound: it is the browser that asks, in a page of this server

/** The most characters of a live output that a page keeps; a browser stays quick with them. */
const maxShownCharacters = 200_000;

export const pageScript = `'use strict';
const lost = document.querySelector('#connection');
const open = new Map();

function connect(part, address, listeners) {
  if (document.hidden || !part.isConnected) return;
  const events = new EventSource(address());
  open.set(part, events);
  events.addEventListener('open', () => { if (lost) lost.hidden = true; });
  events.addEventListener('error', () => {
    if (lost) lost.hidden = false;
    if (events.readyState !== 2) return;
    open.delete(part);
    setTimeout(() => { if (!open.has(part)) connect(part, address, listeners); }, 3000);
  });
  for (const [name, take] of Object.entries(listeners))
    events.addEventListener(name, (event) => take(JSON.parse(event.data), event, events));
}

function disconnect() {
  for (const events of open.values()) events.close();
  open.clear();
}

function followOutput(shown) {
  let from = shown.dataset.from;
  let length = shown.textContent.length;
  const isNew = shown.dataset.followed === undefined;
  shown.dataset.followed = '';
  const add = ({ stream, text }) => {
    const last = shown.lastElementChild;
    if (last && last.className === stream && last.textContent.length < 4000) last.append(text);
    else {
      const piece = document.createElement('span');
      piece.className = stream;
      piece.textContent = text;
      shown.append(piece);
    }
    length += text.length;
  };
  const change = (pieces) => {
    const atEnd = shown.scrollTop + shown.clientHeight > shown.scrollHeight - 40;
    pieces.forEach(add);
    while (length > ${maxShownCharacters} && shown.firstChild !== shown.lastChild) {
      length -= shown.firstChild.textContent.length;
      shown.firstChild.remove();
    }
    if (atEnd) shown.scrollTop = shown.scrollHeight;
  };
  if (isNew) shown.scrollTop = shown.scrollHeight;
  connect(shown, () => '/runs/' + shown.dataset.run + '/live?from=' + from, {
    output: ({ passed, pieces }, event) => {
      from = event.lastEventId;
      shown.dataset.from = from;
      change(passed > 0 ? [{ stream: 'passed', text: '\\n… ' + passed + ' characters are not shown …\\n' }, ...pieces] : pieces);
    },
    whole: (pieces) => { shown.replaceChildren(); length = 0; change(pieces); },
    end: (_reason, _event, events) => {
      events.close();
      open.delete(shown);
      if (shown.dataset.end === 'reload') location.reload();
    },
  });
}

const known = new WeakMap();
const getVersion = (row) => row.dataset.version ?? row.outerHTML;

/** Only what looks different is replaced, so that focus and live output stay. */
function update(part, markup) {
  const parsed = new DOMParser().parseFromString('<body>' + markup, 'text/html');
  const [rows, shownRows] = [parsed, part].map((where) => where.querySelector('[data-rows]'));
  if (rows && shownRows) updateRows(shownRows, [...rows.children]);
  else part.replaceChildren(...parsed.body.childNodes);
  for (const fresh of parsed.querySelectorAll('[data-fresh]')) {
    const shown = part.querySelector('[data-fresh="' + fresh.dataset.fresh + '"]');
    if (shown && shown.outerHTML !== fresh.outerHTML) shown.replaceWith(fresh);
  }
  for (const [output, events] of open)
    if (!output.isConnected) { events.close(); open.delete(output); }
  part.querySelectorAll('[data-run]').forEach((output) => { if (!open.has(output)) followOutput(output); });
}

function updateRows(shown, rows) {
  const old = new Map([...shown.children].map((row) => [row.id, row]));
  const focused = document.activeElement && shown.contains(document.activeElement)
    ? document.activeElement.getAttribute('href') : null;
  const next = rows.map((row) => {
    const before = old.get(row.id);
    if (before && known.get(before) === getVersion(row)) return before;
    known.set(row, getVersion(row));
    return row;
  });
  for (const [at, row] of next.entries())
    if (shown.children[at] !== row) shown.insertBefore(row, shown.children[at] ?? null);
  while (shown.children.length > next.length) shown.lastElementChild.remove();
  if (focused && !shown.contains(document.activeElement))
    [...shown.querySelectorAll('a')].find((link) => link.getAttribute('href') === focused)?.focus();
}

function connectAll() {
  document.querySelectorAll('[data-feed]').forEach((part) =>
    connect(part, () => part.dataset.feed, { part: (markup) => update(part, markup) }));
  document.querySelectorAll('[data-run]').forEach(followOutput);
}

document.querySelectorAll('[data-rows] > *').forEach((row) => known.set(row, getVersion(row)));
document.addEventListener('visibilitychange', () => {
  if (document.hidden) disconnect();
  else if (open.size === 0) connectAll();
});
addEventListener('pagehide', disconnect);
connectAll();
`;
