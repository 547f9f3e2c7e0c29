/** The view of one file: its rows, its picture or its text, and a link. It runs in the frame of a host. */
export const tableView = String.raw`
let given = {};

/** Which tool shows the file that the answer is about; null: only its link is known. */
function findSource(data) {
  if (toText(data.crate_id) !== '' && toText(data.path) !== '') return { tool: 'view_crate_file', given: { crate_id: data.crate_id, path: data.path } };
  if (toText(given.file_id) !== '') return { tool: 'view_file', given: { file_id: given.file_id } };
  const name = toText(given.name ?? given.artifact_path ?? data.artifact_id).replace(/^\/artifacts\//, '');
  return name === '' ? null : { tool: 'view_artifact', given: { name } };
}

startView('table', {
  showInput(input) { given = input; },
  showResult(data) {
    const source = host.canCall ? findSource(data) : null;
    const name = toText(data.filename ?? data.path ?? data.artifact_id) || 'File';
    const link = async () => (toText(data.downloadUrl) !== '' || source === null ? data : getLink(data));
    const about = make('span', { class: 'muted meta' }, describe(data));
    const known = (file) => { about.textContent = describe({ ...file, mediaType: file.media_type, table: file.table }); };
    show(
      make('header', { class: 'view-head' }, make('h1', null, name.slice(name.lastIndexOf('/') + 1)), about,
        make('span', { class: 'row end' },
          button('Open', press(async () => host.openLink(toText((await link()).downloadUrl)))),
          button('Download', press(async () => host.download(await link()))))),
      source !== null ? makeFilePanel(source, known) : toText(data.text) === '' ? null : block(toText(data.text)));
  },
});

const getLink = ({ crate_id, path, artifact_id }) =>
  toText(crate_id) !== '' ? host.call('read_crate_file', { crate_id, path, delivery: 'link' }) : host.call('get_artifact', { name: artifact_id });

function describe({ size, mediaType, media_type, table }) {
  const shape = isObject(table) ? formatCount(table.total, 'row', 'rows') + (table.cut === true ? ' and more' : '') + ' × ' + formatCount(table.width, 'column', 'columns') : '';
  return [shape, formatBytes(size), toText(mediaType ?? media_type).split(';')[0]].filter((part) => part !== '').join(' · ');
}
`;
