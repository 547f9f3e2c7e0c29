/** The view of crates: results of a search, and one crate with its files. */
import { make } from '../../platform/html/elements.browser.ts';
import { countThings } from '../../platform/text/text.ts';
import { makeLookButton } from './file-panel.browser.ts';
import { host, toList, toObject, toObjects, toText, type Untrusted } from './host.browser.ts';
import {
  describeSize,
  joinFacts,
  makeButton,
  makeFailure,
  makeStatus,
  makeViewHead,
  show,
  startView,
  viewElement,
} from './view.browser.ts';

const maxFilesShown = 100;

const cutShownText = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, max - 1)}…` : text;

const joinList = (list: unknown, max: number): string => toList(list).map(toText).slice(0, max).join(', ');

/** Words that fit are between two stars each. */
const makeSnippet = (text: string) =>
  text.split('**').map((part, at) => (at % 2 === 1 ? make('mark', {}, part) : part));

const makeNote = (text: string): HTMLElement => make('p', { class: 'muted small-text' }, text);

function showSearch(search: Untrusted): void {
  const found = toObjects(search.results);
  const count =
    search.total === null
      ? `${found.length} of many crates`
      : countThings(Number(search.total ?? found.length), 'crate');
  const query = toText(search.query);
  show(
    makeViewHead(
      query === '' ? 'Crates' : `“${cutShownText(query, 80)}”`,
      make('span', { class: 'muted meta' }, count),
    ),
    found.length === 0
      ? makeStatus('No crate fits.')
      : make(
          'ul',
          { class: 'results' },
          found.map((crate) => makeFoundCrate(crate, search)),
        ),
    toList(search.notes).map((note) => makeNote(toText(note))),
  );
}

function makeFoundCrate(crate: Untrusted, search: Untrusted): HTMLElement {
  const by = joinFacts(joinList(crate.authors, 3), toText(crate.year));
  const title = toText(crate.title) || toText(crate.crate_id);
  const snippet = toText(crate.snippet) || cutShownText(toText(crate.description), 240);
  return make(
    'li',
    {},
    host.canCall
      ? makeButton(title, () => openCrate(crate.crate_id, search), { class: 'title' })
      : make('strong', {}, title),
    by === '' ? null : makeNote(cutShownText(by, 200)),
    snippet === '' ? null : make('p', { class: 'snippet' }, makeSnippet(snippet)),
  );
}

async function openCrate(crate_id: unknown, search?: Untrusted): Promise<void> {
  showCrateView(await host.call('get_crate', { crate_id }), search);
  viewElement.querySelector('h1')?.focus();
}

function showCrateView(crate: Untrusted, search?: Untrusted): void {
  const title = make('h1', { tabindex: '-1' }, toText(crate.title) || 'Crate');
  const count = typeof crate.file_count === 'number' ? countThings(crate.file_count, 'file') : '';
  const about = make('span', { class: 'muted meta' }, joinFacts(count, describeSize(crate.bytes)));
  const download = makeButton('Download', async () =>
    host.download(await host.call('download_crate', { crate_id: crate.crate_id })),
  );
  const description = cutShownText(toText(crate.description), 1200);
  const files = make('section');
  show(
    search === undefined
      ? null
      : make(
          'p',
          {},
          makeButton('Back to the results', () => showSearch(search)),
        ),
    make(
      'header',
      { class: 'view-head' },
      title,
      about,
      host.canCall ? make('span', { class: 'row end' }, download) : null,
    ),
    description === '' ? null : make('p', { class: 'description' }, description),
    make(
      'dl',
      {},
      listCrateFacts(crate).map(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]),
    ),
    toObjects(crate.issues)
      .slice(0, 10)
      .map(({ message }) => make('p', { class: 'note' }, toText(message))),
    files,
  );
  if (host.canCall) void showCrateFiles(files, crate.crate_id, 0);
}

function listCrateFacts(crate: Untrusted): (readonly [string, string])[] {
  const { name, id } = toObject(crate.license);
  const kinds = toObjects(crate.types)
    .slice(0, 8)
    .map(({ type, count }) => `${toText(type)} (${toText(count)})`);
  const all = [
    ['Authors', joinList(crate.authors, 20)],
    ['Published', toText(crate.date_published).slice(0, 10)],
    ['Licence', toText(name ?? id)],
    ['Keywords', joinList(crate.keywords, 20)],
    ['Kinds', kinds.join(', ')],
    ['RO-Crate', toText(crate.spec_version)],
    ['Where', toText(crate.resource_locator)],
    ['Id', toText(crate.crate_id)],
  ] as const;
  return all.filter(([, value]) => value !== '');
}

async function showCrateFiles(section: HTMLElement, crate_id: unknown, offset: number): Promise<void> {
  try {
    const { files, total, next } = await host.call('list_crate_files', {
      crate_id,
      limit: maxFilesShown,
      offset,
    });
    const list = section.querySelector('ul') ?? make('ul', { class: 'files' });
    list.append(...toObjects(files).map((file) => makeCrateFile(crate_id, file)));
    const more =
      next === null || next === undefined
        ? []
        : [
            make(
              'p',
              {},
              makeButton('More files', () => showCrateFiles(section, crate_id, Number(next))),
            ),
          ];
    section.replaceChildren(make('h2', {}, countThings(Number(total) || 0, 'file')), list, ...more);
  } catch (error) {
    section.append(makeFailure(error));
  }
}

function makeCrateFile(crate_id: unknown, { path, size }: Untrusted): HTMLElement {
  const name = toText(path);
  const file = { crate_id, path: name };
  const entry = make(
    'li',
    {},
    make('span', { class: 'name' }, name, ' ', make('span', { class: 'muted' }, describeSize(size))),
  );
  const download = makeButton(
    'Download',
    async () => host.download(await host.call('read_crate_file', { ...file, delivery: 'link' })),
    { 'aria-label': `Download ${name}` },
  );
  const look = makeLookButton(entry, { tool: 'view_crate_file', given: file }, name);
  entry.append(make('span', { class: 'row' }, look, download));
  return entry;
}

/** Where the host calls no tools, the answer is all that there is. */
const showNames = (id: string, files: readonly Untrusted[]): void =>
  show(
    make('h1', {}, `Files of ${id}`),
    make(
      'ul',
      { class: 'files' },
      files.map(({ path, size }) => make('li', {}, make('span', {}, toText(path)), describeSize(size))),
    ),
  );

startView('crate', {
  showResult(data, { input }) {
    if (Array.isArray(data.results)) return showSearch({ query: input.prop_value, ...data });
    if (!Array.isArray(data.files)) return showCrateView(data);
    const id = toText(data.crate_id ?? input.crate_id);
    if (!host.canCall) return showNames(id, toObjects(data.files));
    return openCrate(id).catch((error: unknown) => show(makeFailure(error)));
  },
});
