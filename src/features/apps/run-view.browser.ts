/** The view of a run: how it ended, what it printed (as it comes), its figures, and the files that it changed. */
import { make } from '../../platform/html/elements.browser.ts';
import type { EndedRunAnswer } from '../../core/runs/answer.ts';
import {
  describeState,
  describeUnenforced,
  explainEnd,
  isCanceller,
  isPictureName,
  isReason,
  nameRun,
  toArtifactName,
  type DescribedEnd,
} from '../../core/runs/describe-run.ts';
import type { RunWithOutput } from '../../core/runs/schema.ts';
import { formatDuration } from '../../platform/text/text.ts';
import { makeFilePanel, makeLookButton, type ShownSource } from './file-panel.browser.ts';
import {
  asNumber,
  toText,
  host,
  toList,
  toObject,
  toObjects,
  type Untrusted,
  type Unproven,
} from './host.browser.ts';
import {
  joinFacts,
  makeBlock,
  makeButton,
  makeFailure,
  makePicture,
  makeStatus,
  makeViewHead,
  show,
  startView,
  viewElement,
} from './view.browser.ts';

const maxFigures = 6;
const maxFilesHere = 50;
const maxLiveCharacters = 200_000;
const isTableName = /\.(?:csv|tsv|tab)$/i;

/** The answer of a call that runs code, or of one that asks for a run. */
type UnprovenRun = Unproven<EndedRunAnswer & RunWithOutput>;

/** What the call asked for, since an answer may leave it out. */
let calledCode = '';
/** The run that is followed; what follows an earlier one stops then. */
let followed: UnprovenRun | null = null;

/** Null where it is none that we know. */
function readEnd(run: UnprovenRun): DescribedEnd | null {
  const [reason, canceller] = [toText(run.end_reason), toText(run.cancelled_by)];
  if (!isReason(reason)) return null;
  return {
    end_reason: reason,
    exit_code: asNumber(run.exit_code),
    signal: toText(run.signal) || null,
    duration_ms: asNumber(run.duration_ms),
    cancelled_by: isCanceller(canceller) ? canceller : null,
    limits: readLimits(toObject(run.limits)),
  };
}

function readLimits(given: Unproven<RunWithOutput['limits']>): NonNullable<DescribedEnd['limits']> | null {
  const [timeout_ms, memory_bytes] = [asNumber(given.timeout_ms), asNumber(given.memory_bytes)];
  const [processes, disk_bytes] = [asNumber(given.processes), asNumber(given.disk_bytes)];
  if (timeout_ms === null || memory_bytes === null || processes === null || disk_bytes === null) return null;
  return { timeout_ms, memory_bytes, processes, disk_bytes };
}

function makeRunHead(run: UnprovenRun): HTMLElement {
  const { kind, word } = describeState(toText(run.end_reason) || 'ended', asNumber(run.exit_code));
  const duration = typeof run.duration_ms === 'number' ? formatDuration(run.duration_ms) : '';
  const facts = joinFacts(duration, toText(run.execution_id));
  const head = makeViewHead(
    nameRun({ language: toText(run.language), script: toText(run.script) || null }),
    make('span', { class: 'muted meta' }, facts),
  );
  head.prepend(
    make('span', { class: `state ${kind}` }, make('span', { class: 'dot', 'aria-hidden': 'true' }), word),
  );
  return head;
}

const makeCode = (text: string, isOpen = false): HTMLElement | null =>
  text === ''
    ? null
    : make(
        'details',
        { open: isOpen },
        make('summary', {}, 'Code'),
        makeBlock(text, { 'aria-label': 'Code' }),
      );

const makeSection = (title: string, ...children: Parameters<typeof show>): HTMLElement =>
  make('section', {}, make('h2', {}, title), children);

function makeOutput(run: UnprovenRun, results: readonly Untrusted[]): (HTMLElement | null)[] {
  const [stdout, stderr] = [toText(run.stdout), toText(run.stderr)];
  const values = results
    .map(({ text }) => toText(text).replace(/\n$/, ''))
    .filter((text) => text !== '')
    .map((text) => makeBlock(text, { 'aria-label': 'Value' }));
  const parts = [
    stdout === '' ? null : makeSection('Output', makeBlock(stdout, { 'aria-label': 'Output' })),
    values.length === 0 ? null : makeSection(values.length === 1 ? 'Value' : 'Values', values),
    stderr === ''
      ? null
      : makeSection('Errors', makeBlock(stderr, { class: 'errors', 'aria-label': 'Errors' })),
  ];
  return [
    ...parts,
    parts.every((part) => part === null) ? makeStatus('It printed nothing.') : null,
    run.truncated === true ? makeWholeOutput(run) : null,
    toText(run.hint) === '' ? null : make('p', { class: 'note' }, toText(run.hint)),
  ];
}

function makeWholeOutput({ full_stdout }: UnprovenRun): HTMLElement {
  const { downloadUrl }: Unproven<EndedRunAnswer['full_stdout']> = toObject(full_stdout);
  const open = makeButton('Open all of it', () => host.openLink(downloadUrl));
  return make(
    'p',
    { class: 'muted small-text' },
    'The output was long, and is shown in part.',
    downloadUrl === undefined ? null : [' ', open],
  );
}

/** Figures among the results are stored files; others were written to /artifacts, where a later run may have changed them. */
function listPictures(results: readonly Untrusted[], changed: readonly string[]) {
  const isStoredPicture = ({ mime, file_id }: Untrusted): boolean =>
    toText(mime).startsWith('image/') && toText(file_id) !== '';
  const drawn = results
    .flatMap(({ parts }) => toObjects(parts).filter(isStoredPicture).slice(0, 1))
    .map(({ file_id }): NamedSource => ({ tool: 'view_file', given: { file_id }, name: 'Figure' }));
  const written = changed
    .map(toArtifactName)
    .filter((name) => name !== null && isPictureName(name))
    .map((name): NamedSource => ({ tool: 'view_artifact', given: { name }, name: `${name}, as it is now` }));
  return [...drawn, ...written];
}

interface NamedSource extends ShownSource {
  readonly name: string;
}

function makePictures(
  results: readonly Untrusted[],
  changed: readonly string[],
  content: unknown,
): HTMLElement | null {
  const found = host.canCall ? listPictures(results, changed) : [];
  const shown = found.length > 0 ? found.slice(0, maxFigures).map(makeFigure) : readPictures(content);
  if (shown.length === 0) return null;
  const more = found.length - shown.length;
  return makeSection(
    'Pictures',
    make('div', { class: 'pictures' }, shown),
    more > 0 ? makeStatus(`And ${more} more among the files.`) : null,
  );
}

const makeFigure = ({ name, ...source }: NamedSource): HTMLElement =>
  make('figure', { class: 'drawn' }, makeFilePanel(source), make('figcaption', {}, name));

/** Those that are in the answer itself. */
const readPictures = (content: unknown): HTMLElement[] =>
  toObjects(content)
    .filter(({ type }) => type === 'image')
    .map(({ mimeType, data }) => makePicture(`data:${toText(mimeType)};base64,${toText(data)}`, 'Figure'))
    .filter((picture) => picture !== null);

type ChangedFiles = Pick<EndedRunAnswer['artifacts'], 'created' | 'modified' | 'deleted'>;

function readChanges({ artifacts }: UnprovenRun): ChangedFiles {
  const { created, modified, deleted }: Unproven<EndedRunAnswer['artifacts']> = toObject(artifacts);
  const toPaths = (list: unknown): string[] => toList(list).map(toText);
  return { created: toPaths(created), modified: toPaths(modified), deleted: toPaths(deleted) };
}

function makeFiles({ created, modified, deleted }: ChangedFiles): HTMLElement | null {
  const entries = [
    ...created.map((path) => makeFileEntry(path, 'new')),
    ...modified.map((path) => makeFileEntry(path, 'changed')),
    ...deleted.map((path) =>
      make(
        'li',
        {},
        make('span', { class: 'name' }, make('s', {}, path)),
        make('span', { class: 'muted' }, 'deleted'),
      ),
    ),
  ];
  if (entries.length === 0) return null;
  const more = entries.length - maxFilesHere;
  return makeSection(
    'Files',
    make('ul', { class: 'files' }, entries.slice(0, maxFilesHere)),
    more > 0 ? makeStatus(`And ${more} more.`) : null,
  );
}

function makeFileEntry(path: string, change: string): HTMLElement {
  const name = toArtifactName(path);
  const entry = make(
    'li',
    {},
    make('span', { class: 'name' }, path, ' ', make('span', { class: 'tag' }, change)),
  );
  if (name === null || !host.canCall) return entry;
  const getLink = (): Promise<Untrusted> => host.call('get_artifact', { name });
  const open = makeButton('Open', async () => host.openLink((await getLink()).downloadUrl), {
    'aria-label': `Open ${name}`,
  });
  const download = makeButton('Download', async () => host.download(await getLink()), {
    'aria-label': `Download ${name}`,
  });
  const look = isTableName.test(name)
    ? makeLookButton(entry, { tool: 'view_artifact', given: { name } }, name)
    : null;
  entry.append(make('span', { class: 'row' }, look, open, download));
  return entry;
}

function showRun(run: UnprovenRun, content: unknown): void {
  const changes = readChanges(run);
  const results = toObjects(run.results);
  const { unenforced = toObject(run.limits).unenforced } = run;
  const end = readEnd(run);
  const explanation = end && explainEnd(end, { removed: null });
  show(
    makeRunHead(run),
    explanation === null ? null : make('p', { class: 'note failed' }, explanation),
    makeCode(toText(run.code) || calledCode),
    makePictures(results, [...changes.created, ...changes.modified], content),
    makeOutput(run, results),
    makeFiles(changes),
    describeUnenforced(toList(unenforced).map(toText)).map((words) =>
      make('p', { class: 'muted small-text' }, words),
    ),
  );
}

/** Shows what a run prints while it goes on. Each look waits longer, since each is a call. */
async function pollRun(run: UnprovenRun): Promise<void> {
  followed = run;
  const isOver = (): boolean => followed !== run || host.isOver;
  const execution_id = toText(run.execution_id);
  const printed: Unproven<RunWithOutput['output']> = toObject(run.output);
  const live = makeBlock(toText(printed.text ?? run.stdout), { 'aria-label': 'Output so far', role: 'log' });
  const head = make('div', {}, makeRunHead(run));
  const end = makeButton('End this run', () => host.call('cancel_execution', { execution_id }));
  show(
    head,
    makeCode(toText(run.code) || calledCode),
    makeSection('Output so far', live),
    make('div', { class: 'actions' }, end),
  );
  let output_from = Number(printed.next ?? run.output_next ?? 0);
  for (let looks = 0; !isOver(); looks++) {
    await waitUntilVisible();
    const wait_ms = Math.min(5000, 500 + 250 * looks);
    const now: UnprovenRun = await host.call('get_execution', { execution_id, wait_ms, output_from });
    if (followed !== run) return;
    const { text, next }: Unproven<RunWithOutput['output']> = toObject(now.output);
    appendOutput(live, toText(text));
    output_from = Number(next ?? output_from);
    head.replaceChildren(makeRunHead(now));
    if (now.end_reason !== 'running') return showRun(await host.call('get_execution', { execution_id }), []);
  }
}

async function waitUntilVisible(): Promise<void> {
  if (!document.hidden) return;
  await new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }));
}

/** The end of it stays in sight where it was. */
function appendOutput(live: HTMLElement, text: string): void {
  const isAtEnd = live.scrollTop + live.clientHeight > live.scrollHeight - 40;
  live.textContent = (live.textContent + text).slice(-maxLiveCharacters);
  if (isAtEnd) live.scrollTop = live.scrollHeight;
}

startView('run', {
  showInput({ code, command, language }) {
    calledCode = toText(code ?? command);
    show(makeRunHead({ end_reason: 'running', language: language ?? 'Code' }), makeCode(calledCode, true));
  },
  showResult(run, { content }) {
    followed = null;
    if (run.end_reason !== 'running' || !host.canCall) return showRun(run, content);
    return pollRun(run).catch((error: unknown) => viewElement.append(makeFailure(error)));
  },
});
