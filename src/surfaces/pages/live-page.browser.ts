/**
 * The script of pages that change while they are open. It shows what a run prints as it comes, keeps lists up to date,
 * and goes on by itself when the connection was lost. A page that nobody looks at lets its connections go: a browser has
 * only a few.
 */
import { make } from '../../platform/html/elements.browser.ts';
import type { PageEvents, ShownPiece } from './live-events.ts';

/** The most characters of a live output that a page keeps; a browser stays quick with them. */
const maxShownCharacters = 200_000;
const maxPieceCharacters = 4000;
const lostConnectionMs = 3000;

const connectionNote = document.querySelector<HTMLElement>('#connection');
const openEvents = new Map<HTMLElement, EventSource>();

type Listeners = {
  readonly [Name in keyof PageEvents]?: (data: PageEvents[Name], id: string) => void;
};

function connect(part: HTMLElement, getAddress: () => string, listeners: Listeners): void {
  if (document.hidden || !part.isConnected) return;
  const events = new EventSource(getAddress());
  openEvents.set(part, events);
  events.addEventListener('open', () => showConnection(true));
  events.addEventListener('error', () => {
    showConnection(false);
    if (events.readyState !== EventSource.CLOSED) return;
    openEvents.delete(part);
    setTimeout(() => {
      if (!openEvents.has(part)) connect(part, getAddress, listeners);
    }, lostConnectionMs);
  });
  for (const [name, take] of Object.entries(listeners))
    events.addEventListener(name, ({ data, lastEventId }: MessageEvent<string>) =>
      take(JSON.parse(data) as never, lastEventId),
    );
}

function showConnection(isThere: boolean): void {
  if (connectionNote !== null) connectionNote.hidden = isThere;
}

function disconnectAll(): void {
  for (const events of openEvents.values()) events.close();
  openEvents.clear();
}

/** What a run prints, into its element. The end of it stays in sight where it was. */
function followOutput(shown: HTMLElement): void {
  const output = createShownOutput(shown);
  if (shown.dataset.followed === undefined) shown.scrollTop = shown.scrollHeight;
  shown.dataset.followed = '';
  connect(shown, () => `/runs/${shown.dataset.run}/live?from=${shown.dataset.from}`, {
    output({ passed, pieces }, id) {
      shown.dataset.from = id;
      output.add(passed > 0 ? [describePassed(passed), ...pieces] : pieces);
    },
    whole(pieces) {
      output.clear();
      output.add(pieces);
    },
    end() {
      openEvents.get(shown)?.close();
      openEvents.delete(shown);
      if (shown.dataset.end === 'reload') location.reload();
    },
  });
}

const describePassed = (count: number): ShownPiece => ({
  stream: 'passed',
  text: `\n… ${count} characters are not shown …\n`,
});

function createShownOutput(shown: HTMLElement) {
  let length = shown.textContent.length;
  function addPiece({ stream, text }: ShownPiece): void {
    const last = shown.lastElementChild;
    if (last?.className === stream && last.textContent.length < maxPieceCharacters) last.append(text);
    else shown.append(make('span', { class: stream }, text));
    length += text.length;
  }
  function removeStart(): void {
    while (length > maxShownCharacters && shown.firstChild !== shown.lastChild) {
      length -= shown.firstChild!.textContent!.length;
      shown.firstChild!.remove();
    }
  }
  return {
    add(pieces: readonly ShownPiece[]): void {
      const isAtEnd = shown.scrollTop + shown.clientHeight > shown.scrollHeight - 40;
      pieces.forEach(addPiece);
      removeStart();
      if (isAtEnd) shown.scrollTop = shown.scrollHeight;
    },
    clear(): void {
      shown.replaceChildren();
      length = 0;
    },
  };
}

const knownVersions = new WeakMap<Element, string>();
const getVersion = (row: Element): string =>
  (row instanceof HTMLElement ? row.dataset.version : undefined) ?? row.outerHTML;

/** Only what looks different is replaced, so that focus and live output stay. */
function updatePart(part: HTMLElement, markup: string): void {
  const parsed = new DOMParser().parseFromString(`<body>${markup}`, 'text/html');
  const [rows, shownRows] = [parsed, part].map((where) => where.querySelector('[data-rows]'));
  if (rows && shownRows) updateRows(shownRows, [...rows.children]);
  else part.replaceChildren(...parsed.body.childNodes);
  for (const fresh of parsed.querySelectorAll<HTMLElement>('[data-fresh]')) {
    const shown = part.querySelector(`[data-fresh="${fresh.dataset.fresh}"]`);
    if (shown !== null && shown.outerHTML !== fresh.outerHTML) shown.replaceWith(fresh);
  }
  for (const [output, events] of openEvents)
    if (!output.isConnected) {
      events.close();
      openEvents.delete(output);
    }
  for (const output of part.querySelectorAll<HTMLElement>('[data-run]'))
    if (!openEvents.has(output)) followOutput(output);
}

function updateRows(shown: Element, rows: readonly Element[]): void {
  const old = new Map([...shown.children].map((row) => [row.id, row]));
  const focused = shown.contains(document.activeElement)
    ? (document.activeElement?.getAttribute('href') ?? null)
    : null;
  const next = rows.map((row) => {
    const before = old.get(row.id);
    if (before !== undefined && knownVersions.get(before) === getVersion(row)) return before;
    knownVersions.set(row, getVersion(row));
    return row;
  });
  for (const [at, row] of next.entries())
    if (shown.children[at] !== row) shown.insertBefore(row, shown.children[at] ?? null);
  while (shown.children.length > next.length) shown.lastElementChild?.remove();
  if (focused === null || shown.contains(document.activeElement)) return;
  [...shown.querySelectorAll('a')].find((link) => link.getAttribute('href') === focused)?.focus();
}

function connectAll(): void {
  for (const part of document.querySelectorAll<HTMLElement>('[data-feed]'))
    connect(part, () => part.dataset.feed!, {
      part: (markup) => updatePart(part, markup),
    });
  document.querySelectorAll<HTMLElement>('[data-run]').forEach(followOutput);
}

for (const row of document.querySelectorAll('[data-rows] > *')) knownVersions.set(row, getVersion(row));
document.addEventListener('visibilitychange', () => {
  if (document.hidden) disconnectAll();
  else if (openEvents.size === 0) connectAll();
});
addEventListener('pagehide', disconnectAll);
connectAll();
