/** The view of crates: results of a search, and one crate with its files. It runs in the frame of a host. */
export const crateView = String.raw`
const filesOnPage = 100;
let given = {};

const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + '…' : text);

/** Words that fit are between two stars each. */
const makeSnippet = (text) => text.split('**').map((part, at) => (at % 2 === 1 ? make('mark', null, part) : part));

function showSearch(search) {
  const found = toList(search.results).filter(isObject);
  const counted = search.total === null ? found.length + ' of many crates' : formatCount(search.total ?? found.length, 'crate', 'crates');
  const query = toText(search.query ?? given.prop_value);
  show(
    make('header', { class: 'view-head' }, make('h1', null, query === '' ? 'Crates' : '“' + cut(query, 80) + '”'), make('span', { class: 'muted meta' }, counted)),
    found.length === 0 ? say('No crate fits.') : make('ul', { class: 'results' }, found.map((crate) => makeResult(crate, search))),
    toList(search.notes).map((note) => make('p', { class: 'muted small-text' }, toText(note))));
}

function makeResult(crate, search) {
  const by = [toList(crate.authors).map(toText).slice(0, 3).join(', '), toText(crate.year)].filter((part) => part !== '').join(' · ');
  const title = toText(crate.title) || toText(crate.crate_id);
  const snippet = toText(crate.snippet) || cut(toText(crate.description), 240);
  return make('li', null,
    host.canCall ? make('button', { type: 'button', class: 'title', click: press(() => openCrate(crate.crate_id, search)) }, title) : make('strong', null, title),
    by === '' ? null : make('p', { class: 'muted small-text' }, cut(by, 200)),
    snippet === '' ? null : make('p', { class: 'snippet' }, makeSnippet(snippet)));
}

async function openCrate(crate_id, search) {
  showCrate(await host.call('get_crate', { crate_id }), search);
  page.querySelector('h1').focus();
}

function showCrate(crate, search) {
  const licence = isObject(crate.license) ? toText(crate.license.name ?? crate.license.id) : '';
  const rows = [
    ['Authors', toList(crate.authors).map(toText).slice(0, 20).join(', ')],
    ['Published', toText(crate.date_published).slice(0, 10)],
    ['Licence', licence],
    ['Keywords', toList(crate.keywords).map(toText).slice(0, 20).join(', ')],
    ['Kinds', toList(crate.types).filter(isObject).slice(0, 8).map(({ type, count }) => toText(type) + ' (' + toText(count) + ')').join(', ')],
    ['RO-Crate', toText(crate.spec_version)],
    ['Where', toText(crate.resource_locator)],
    ['Id', toText(crate.crate_id)],
  ].filter(([, value]) => value !== '');
  const files = make('section', null);
  show(
    search === undefined ? null : make('p', null, button('Back to the results', () => showSearch(search))),
    make('header', { class: 'view-head' }, make('h1', { tabindex: '-1' }, toText(crate.title) || 'Crate'),
      make('span', { class: 'muted meta' }, [typeof crate.file_count === 'number' ? formatCount(crate.file_count, 'file', 'files') : '', formatBytes(crate.bytes)].filter((part) => part !== '').join(' · ')),
      host.canCall ? make('span', { class: 'row end' }, button('Download', press(async () => host.download(await host.call('download_crate', { crate_id: crate.crate_id }))))) : null),
    toText(crate.description) === '' ? null : make('p', { class: 'description' }, cut(toText(crate.description), 1200)),
    make('dl', null, rows.map(([name, value]) => [make('dt', null, name), make('dd', null, value)])),
    toList(crate.issues).filter(isObject).slice(0, 10).map(({ message }) => make('p', { class: 'note' }, toText(message))),
    files);
  if (host.canCall) showFiles(files, crate.crate_id, 0);
}

async function showFiles(place, crate_id, offset) {
  try {
    const { files, total, next } = await host.call('list_crate_files', { crate_id, limit: filesOnPage, offset });
    const list = place.querySelector('ul') ?? make('ul', { class: 'files' });
    const more = next === null || next === undefined ? null : button('More files', press(() => showFiles(place, crate_id, Number(next))));
    list.append(...toList(files).filter(isObject).map((file) => makeFile(crate_id, file)));
    place.replaceChildren(make('h2', null, formatCount(Number(total) || 0, 'file', 'files')), list, ...(more === null ? [] : [make('p', null, more)]));
  } catch (error) {
    place.append(sayFailure(error));
  }
}

function makeFile(crate_id, { path, size }) {
  const name = toText(path);
  const link = () => host.call('read_crate_file', { crate_id, path: name, delivery: 'link' });
  const item = make('li', null, make('span', { class: 'name' }, name, ' ', make('span', { class: 'muted' }, formatBytes(size))));
  const look = makeLook(item, { tool: 'view_crate_file', given: { crate_id, path: name } }, name);
  item.append(make('span', { class: 'row' }, look, button('Download', press(async () => host.download(await link())), { 'aria-label': 'Download ' + name })));
  return item;
}

startView('crate', {
  showInput(input) { given = input; },
  showResult(data) {
    if (Array.isArray(data.results)) return showSearch(data);
    if (!Array.isArray(data.files)) return showCrate(data);
    const id = toText(data.crate_id ?? given.crate_id);
    if (host.canCall) return openCrate(id).catch((error) => show(sayFailure(error)));
    show(make('h1', null, 'Files of ' + id), make('ul', { class: 'files' }, data.files.filter(isObject).map(({ path, size }) => make('li', null, make('span', null, toText(path)), formatBytes(size)))));
  },
});
`;
