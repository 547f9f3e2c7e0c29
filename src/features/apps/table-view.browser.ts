/** The view of one file: its rows, its picture or its text, and a link. */
import { make } from '../../platform/html/elements.browser.ts';
import { countThings } from '../../platform/text/text.ts';
import { makeFilePanel, type ShownSource } from './file-panel.browser.ts';
import { host, isObject, toText, type Untrusted } from './host.browser.ts';
import {
  describeSize,
  joinFacts,
  makeBlock,
  makeButton,
  makeViewHead,
  show,
  startView,
} from './view.browser.ts';

/** Which tool shows the file that the answer is about; null: only its link is known. */
function findTableSource({ crate_id, path, artifact_id }: Untrusted, input: Untrusted): ShownSource | null {
  if (toText(crate_id) !== '' && toText(path) !== '')
    return { tool: 'view_crate_file', given: { crate_id, path } };
  const { file_id } = input;
  if (toText(file_id) !== '') return { tool: 'view_file', given: { file_id } };
  const name = toText(input.name ?? input.artifact_path ?? artifact_id).replace(/^\/artifacts\//, '');
  return name === '' ? null : { tool: 'view_artifact', given: { name } };
}

const getLink = ({ crate_id, path, artifact_id }: Untrusted): Promise<Untrusted> =>
  toText(crate_id) === ''
    ? host.call('get_artifact', { name: artifact_id })
    : host.call('read_crate_file', { crate_id, path, delivery: 'link' });

function describeFile({ size, mediaType, table }: Untrusted): string {
  const shape = isObject(table) ? describeTableSize(table) : '';
  return joinFacts(shape, describeSize(size), toText(mediaType).split(';')[0]!);
}

const describeTableSize = ({ total, width, cut }: Untrusted): string =>
  `${countThings(Number(total), 'row')}${cut === true ? ' and more' : ''} × ${countThings(Number(width), 'column')}`;

startView('table', {
  showResult(data, { input }) {
    const source = host.canCall ? findTableSource(data, input) : null;
    const name = toText(data.filename ?? data.path ?? data.artifact_id) || 'File';
    const link = async () => (toText(data.downloadUrl) !== '' || source === null ? data : getLink(data));
    const about = make(
      'span',
      { class: 'muted meta' },
      describeFile({ mediaType: data.media_type, ...data }),
    );
    const describeKnown = (file: Untrusted): void => {
      about.textContent = describeFile({ ...file, mediaType: file.media_type });
    };
    const actions = make(
      'span',
      { class: 'row end' },
      makeButton('Open', async () => host.openLink((await link()).downloadUrl)),
      makeButton('Download', async () => host.download(await link())),
    );
    const text = toText(data.text);
    show(
      makeViewHead(name.slice(name.lastIndexOf('/') + 1), about, actions),
      source !== null ? makeFilePanel(source, describeKnown) : text === '' ? null : makeBlock(text),
    );
  },
});
