/** The view of a run: how it ended, what it printed (as it comes), its figures, and the files that it changed. It runs in the frame of a host. */
export const runView = String.raw`
const maxPictures = 6;
const maxOutput = 200000;
const isOpenable = /^\/artifacts\/[^/]+$/;
const isShown = /\.(?:png|jpe?g|gif|webp|svg)$/i;
const isTabular = /\.(?:csv|tsv|tab)$/i;
let code = '';
let turn = 0;

function describeState({ end_reason: reason, exit_code: exit }) {
  if (reason === 'running') return ['going', 'running'];
  if (reason === 'exit') return exit === 0 ? ['good', 'finished'] : ['bad', 'failed, exit ' + toText(exit)];
  return ['bad', toText(reason) || 'ended'];
}

function formatDuration(ms) {
  if (typeof ms !== 'number') return '';
  if (ms < 1000) return Math.round(ms) + ' ms';
  if (ms < 60000) return Number((ms / 1000).toFixed(1)) + ' s';
  return Math.floor(ms / 60000) + ' min ' + Math.round((ms % 60000) / 1000) + ' s';
}

const languages = { python: 'Python', node: 'Node', bash: 'Bash' };

function makeHead(run) {
  const [kind, word] = describeState(run);
  const [name, version] = [toText(run.language), toText(run.script)];
  return make('header', { class: 'view-head' },
    make('span', { class: 'state ' + kind }, make('span', { class: 'dot', 'aria-hidden': 'true' }), word),
    make('h1', null, (version === '' ? (languages[name] ?? name) + ' run' : version)),
    make('span', { class: 'muted meta' }, [formatDuration(run.duration_ms), toText(run.execution_id)].filter((part) => part !== '').join(' · ')));
}

function makeCode(text, isOpen = false) {
  return text === '' ? null : make('details', { open: isOpen }, make('summary', null, 'Code'), block(text, { 'aria-label': 'Code' }));
}

const section = (title, ...children) => make('section', null, make('h2', null, title), children);

function makeOutput(run, results) {
  const [stdout, stderr] = [toText(run.stdout), toText(run.stderr)];
  const values = results.filter(({ text }) => toText(text) !== '').map(({ text }) => toText(text).replace(/\n$/, ''));
  const parts = [
    stdout === '' ? null : section('Output', block(stdout, { 'aria-label': 'Output' })),
    values.length === 0 ? null : section(values.length === 1 ? 'Value' : 'Values', values.map((text) => block(text, { 'aria-label': 'Value' }))),
    stderr === '' ? null : section('Errors', block(stderr, { class: 'errors', 'aria-label': 'Errors' })),
  ].filter((part) => part !== null);
  const notes = [
    parts.length === 0 ? say('It printed nothing.') : null,
    run.truncated === true ? make('p', { class: 'muted small-text' }, 'The output was long, and is shown in part.', makeWholeOutput(run)) : null,
    toText(run.hint) === '' ? null : make('p', { class: 'note' }, toText(run.hint)),
  ];
  return [...parts, ...notes];
}

const makeWholeOutput = ({ full_stdout: link }) =>
  isObject(link) ? [' ', button('Open all of it', press(() => host.openLink(toText(link.downloadUrl))))] : null;

/** Figures among the results are stored files; others were written to /artifacts, where a later run may have changed them. */
function listPictures(run, results, changed) {
  const drawn = results.flatMap(({ parts }) => toList(parts).filter((part) => isObject(part) && toText(part.mime).startsWith('image/') && toText(part.file_id) !== '').slice(0, 1))
    .map(({ file_id }) => ({ tool: 'view_file', given: { file_id }, name: 'Figure' }));
  const written = changed.filter((path) => isOpenable.test(path) && isShown.test(path))
    .map((path) => ({ tool: 'view_artifact', given: { name: path.slice(11) }, name: path.slice(11) + ', as it is now' }));
  return [...drawn, ...written];
}

function makePictures(run, results, changed, content) {
  const found = listPictures(run, results, changed);
  const given = toList(content).filter((part) => isObject(part) && part.type === 'image').map(({ mimeType, data }) => picture('data:' + toText(mimeType) + ';base64,' + toText(data), 'Figure'));
  const shown = host.canCall && found.length > 0
    ? found.slice(0, maxPictures).map(({ name, ...source }) => make('figure', { class: 'drawn' }, makeFilePanel(source), make('figcaption', null, name)))
    : given.filter((one) => one !== null);
  if (shown.length === 0) return null;
  const more = found.length - shown.length;
  return section('Pictures', make('div', { class: 'pictures' }, shown), more > 0 && host.canCall ? say('And ' + more + ' more among the files.') : null);
}

function makeFiles({ created, modified, deleted }) {
  const rows = [
    ...created.map((path) => makeFile(path, 'new')),
    ...modified.map((path) => makeFile(path, 'changed')),
    ...deleted.map((path) => make('li', null, make('span', { class: 'name' }, make('s', null, path)), make('span', { class: 'muted' }, 'deleted'))),
  ];
  const most = 50;
  if (rows.length === 0) return null;
  return section('Files', make('ul', { class: 'files' }, rows.slice(0, most)), rows.length > most ? say('And ' + (rows.length - most) + ' more.') : null);
}

function makeFile(path, what) {
  const name = path.slice(11);
  const link = () => host.call('get_artifact', { name });
  const item = make('li', null, make('span', { class: 'name' }, path, ' ', make('span', { class: 'tag' }, what)));
  if (!isOpenable.test(path) || !host.canCall) return item;
  item.append(make('span', { class: 'row' },
    isTabular.test(name) ? makeLook(item, { tool: 'view_artifact', given: { name } }, name) : null,
    button('Open', press(async () => host.openLink(toText((await link()).downloadUrl))), { 'aria-label': 'Open ' + name }),
    button('Download', press(async () => host.download(await link())), { 'aria-label': 'Download ' + name })));
  return item;
}

function readChanges({ artifacts }) {
  const read = (name) => (isObject(artifacts) ? toList(artifacts[name]).map(toText) : []);
  return { created: read('created'), modified: read('modified'), deleted: read('deleted') };
}

function showRun(run, content) {
  const changes = readChanges(run);
  const results = toList(run.results).filter(isObject);
  const unenforced = toList(run.unenforced ?? run.limits?.unenforced).map(toText);
  show(makeHead(run), makeCode(toText(run.code) || code),
    makePictures(run, results, [...changes.created, ...changes.modified], content),
    makeOutput(run, results), makeFiles(changes),
    unenforced.length === 0 ? null : make('p', { class: 'muted small-text' }, 'Not enforced on this machine: ' + unenforced.join(', ') + '.'));
}

/** Shows what a run prints while it goes on. Each look waits longer, since each is a call. */
async function followRun(run) {
  const mine = ++turn;
  const id = toText(run.execution_id);
  const live = block(toText(run.output?.text ?? run.stdout), { 'aria-label': 'Output so far', role: 'log' });
  const head = make('div', null, makeHead(run));
  const end = button('End this run', press(() => host.call('cancel_execution', { execution_id: id })));
  show(head, makeCode(toText(run.code) || code), section('Output so far', live), make('div', { class: 'actions' }, end));
  let from = Number(run.output?.next ?? run.output_next ?? 0);
  for (let looks = 0; mine === turn && !host.isOver; looks++) {
    if (document.hidden) await new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }));
    const now = await host.call('get_execution', { execution_id: id, wait_ms: Math.min(5000, 500 + 250 * looks), output_from: from });
    if (mine !== turn) return;
    const atEnd = live.scrollTop + live.clientHeight > live.scrollHeight - 40;
    live.textContent = (live.textContent + toText(now.output?.text)).slice(-maxOutput);
    if (atEnd) live.scrollTop = live.scrollHeight;
    from = Number(now.output?.next ?? from);
    head.replaceChildren(makeHead(now));
    if (now.end_reason === 'running') continue;
    return showRun(await host.call('get_execution', { execution_id: id }), []);
  }
}

startView('run', {
  showInput({ code: given, command, language }) {
    code = toText(given ?? command);
    show(make('header', { class: 'view-head' }, make('span', { class: 'state going' }, make('span', { class: 'dot', 'aria-hidden': 'true' }), 'running'), make('h1', null, (languages[language] ?? 'Code') + ' run')), makeCode(code, true));
  },
  showResult(run, { content }) {
    turn++;
    if (run.end_reason !== 'running') return showRun(run, content);
    if (!host.canCall) return showRun(run, content);
    followRun(run).catch((error) => page.append(sayFailure(error)));
  },
});
`;
