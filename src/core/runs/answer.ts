/**
 * What the tools that run code answer: the text for a model and the typed value, of a run that is over and of one that
 * its call leaves under way. It runs nothing; the texts about earlier runs are in `record-text.ts`.
 */
import type { ContentBlock } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { publicMessage } from '../../platform/errors.ts';
import type { Caller } from '../identity.ts';
import { toLinkAnswer, linkShape } from '../links/link-result.ts';
import type { SharedLink } from '../links/links.ts';
import type { ToolAnswer, ToolContext } from '../offer/tool.ts';
import { formatBytes, formatDuration, quoteName } from '../../platform/text/text.ts';
import { cellShape, showCell, toCellLines, type CellSlot } from './cell-slot.ts';
import { clientInputShape, describeClientInput, listClientInputs } from './client-and-crate-files.ts';
import type { EndedExecution } from './execute.ts';
import {
  differenceShape,
  showDifference,
  hasTemporaryFiles,
  showTemporaryFiles,
  temporaryFilesShape,
  toTemporaryLines,
  unseenDifference,
} from './difference.ts';
import {
  describeBackground,
  describeEnd,
  describeUnenforced,
  describeUnnamedChanges,
  listLosses,
} from './describe-run.ts';
import { backgrounds, type Execution } from './fields.ts';
import { describeMissingPackage, describeRealFolders, type Surroundings } from './surroundings.ts';
import type { RunRecord } from './record.ts';
import type { SpooledOutput, OutputPart, OutputBounds } from './output.ts';
import {
  buildResultAnswer,
  resultFields,
  showResultPictures,
  wantsPictures,
  type ResultAnswerOptions,
} from './results.ts';
import { answeredShape, showAnswered, showEnd } from './schema.ts';
import type { LiveRun } from './live.ts';

/** What a run came to (D2), without what extensions say of it. */
const endedShape = z.object({
  ...answeredShape,
  duration_ms: z.number(),
  artifacts: differenceShape.describe('Files below the working folder, and /artifacts/… for those in there'),
  temporary_files: temporaryFilesShape.optional(),
  unenforced: z.array(z.string()).describe('Walls and limits that this server cannot enforce'),
  folders: z
    .record(z.string(), z.string().nullable())
    .optional()
    .describe('The real paths of /workspace and so on, where nothing is mounted'),
  hint: z.string().nullable().describe('What to do where a package or program is missing'),
  client_files: z.array(clientInputShape).optional().describe('How files of the client came'),
  ...resultFields,
  full_stdout: linkShape.nullable().describe('All of stdout, where it was cut'),
  full_stderr: linkShape.nullable().describe('All of stderr, where it was cut'),
  session: cellShape.optional().describe('The session of which it was a cell'),
  background: z
    .enum(backgrounds)
    .nullable()
    .describe('Why it goes or went on without the call that began it'),
  output_next: z
    .number()
    .nullable()
    .describe('Of a run that goes on, the output_from to go on with; stdout has all of its output so far'),
});

export type EndedRunAnswer = z.output<typeof endedShape>;

/** What all tools that run code answer with. */
export const makeEndedShape = ({ answer }: RunRecord): typeof endedShape =>
  endedShape.extend(answer.shape) as unknown as typeof endedShape;

export interface AnswerOptions extends ResultAnswerOptions {
  readonly record: RunRecord;
  /** What code finds where it runs, for hints; null where that is not known. */
  readonly surroundings?: Surroundings | null;
  /** Shows pictures among files that a run made; without it none are shown. */
  readonly showPictures?: ShowPictures;
}

/** Finds the pictures among files that a run made, and says of each that is not shown why, in a line. */
type ShowPictures = (
  caller: Caller,
  execution: Execution,
  made: readonly string[],
) => Promise<{ readonly pictures: readonly ContentBlock[]; readonly notes: readonly string[] }>;

/** What the caller wants to see of a run besides its text. */
interface AnswerRequest extends Pick<ToolContext, 'caller' | 'client' | 'sharesMachine'> {
  /** Pictures: true is all that it made, false none, undefined what its client is known to show of its results. */
  readonly show: boolean | undefined;
}

type ExecutionAnswer = ToolAnswer<z.input<typeof endedShape>>;

/** A program that failed is a result like any other. */
export async function buildAnswer(
  options: AnswerOptions,
  { caller, client, sharesMachine, show }: AnswerRequest,
  ended: EndedExecution,
): Promise<ExecutionAnswer> {
  const { execution, spooled } = ended;
  const { record } = options;
  const further = record.answer.show(execution);
  const stdout = await shareFullOutput(options, caller, 'stdout', spooled.stdout);
  const stderr = await shareFullOutput(options, caller, 'stderr', spooled.stderr);
  const clientFiles = listClientInputs(execution.inputs, execution.startedAt);
  const hint = describeMissingPackage(execution, options.surroundings ?? null);
  const results = await buildResultAnswer(options, caller, execution);
  const drawn = wantsPictures(show, client)
    ? await showResultPictures(options, caller, execution)
    : noPictures;
  const made =
    (show === true && (await options.showPictures?.(caller, execution, listMadeFiles(execution)))) ||
    noPictures;
  const { pictures, notes } = joinPictures(drawn, made);
  return {
    text: [
      ...toOutputLines(execution),
      ...results.lines,
      ...toEndLines(record, execution),
      ...describeBackground(execution.background),
      ...toCellLines(execution, ended.session),
      ...record.describe(execution, 'answer'),
      ...(hint === null ? [] : [hint]),
      ...clientFiles.map(describeClientInput),
      ...stdout.lines,
      ...stderr.lines,
      ...notes,
      ...(ended.folders === null ? [] : [`Nothing is mounted here: ${describeRealFolders(ended.folders)}.`]),
      ...(sharesMachine && ended.folders === null ? toLocalFolderLines(ended) : []),
      ...(ended.isRecorded ? [] : [notRecordedNotice]),
    ].join('\n'),
    structured: {
      ...showAnswered(execution),
      duration_ms: execution.durationMs ?? 0,
      artifacts: showDifference(execution.artifacts),
      ...(hasTemporaryFiles(execution.temporaryFiles)
        ? { temporary_files: showTemporaryFiles(execution.temporaryFiles) }
        : {}),
      unenforced: [...execution.limits.unenforced],
      ...(ended.folders === null ? {} : { folders: { ...ended.folders } }),
      hint,
      ...(clientFiles.length === 0 ? {} : { client_files: clientFiles }),
      ...results.structured,
      full_stdout: stdout.link?.structured ?? null,
      full_stderr: stderr.link?.structured ?? null,
      ...(ended.session === null ? {} : { session: showCell(execution, ended.session) }),
      ...further,
      background: execution.background,
      output_next: null,
    },
    content: [
      ...results.content,
      ...(stdout.link?.content ?? []),
      ...(stderr.link?.content ?? []),
      ...pictures,
    ],
  };
}

type RunPictures = Awaited<ReturnType<ShowPictures>>;

const noPictures: RunPictures = { pictures: [], notes: [] };

/** A figure that code saved as well is shown once; and whoever sees a figure need not hear that there is no file. */
function joinPictures(drawn: RunPictures, made: RunPictures): RunPictures {
  const known = new Set(drawn.pictures.map(getPictureData));
  const others = made.pictures.filter((picture) => !known.has(getPictureData(picture)));
  const hasDrawn = drawn.pictures.length + drawn.notes.length > 0;
  const notes = hasDrawn && made.pictures.length === 0 ? [] : made.notes;
  return { pictures: [...drawn.pictures, ...others], notes: [...drawn.notes, ...notes] };
}

const getPictureData = (picture: ContentBlock): string => (picture.type === 'image' ? picture.data : '');

/** The files that a run created or modified, by their paths inside. */
function listMadeFiles({ artifacts: { created, modified }, workingDir }: Execution): string[] {
  return [...created, ...modified].map((name) => (name.startsWith('/') ? name : `${workingDir}/${name}`));
}

/** Where a client on the same machine finds what the run made. */
function toLocalFolderLines({ execution, place }: EndedExecution): string[] {
  const made = listMadeFiles(execution);
  const roots = (['artifacts', 'workspace'] as const).filter((root) =>
    made.some((path) => path.startsWith(`/${root}/`)),
  );
  const folders = roots.map((root) => `/${root} is ${quoteName(place[root])}`);
  return folders.length === 0 ? [] : [`On this machine ${folders.join(', ')}.`];
}

const notRecordedNotice =
  'The database failed, so this run is not recorded yet. The server keeps trying; until then get_execution says that it is still running.';

interface FullOutput {
  readonly link: ReturnType<typeof toLinkAnswer<string>> | null;
  readonly lines: readonly string[];
}

async function shareFullOutput(
  { links, linkSeconds, baseUrl }: AnswerOptions,
  caller: Caller,
  stream: 'stdout' | 'stderr',
  spooled: SpooledOutput | null,
): Promise<FullOutput> {
  if (spooled === null) return { link: null, lines: [] };
  const { file, failure, dropped } = spooled;
  if (file === null)
    return {
      link: null,
      lines: [`The full ${stream} could not be stored: ${failure ? publicMessage(failure) : ''}`],
    };
  const shared: SharedLink = await links.share(caller, file.id, {
    ttlSeconds: linkSeconds,
    singleUse: false,
  });
  const link = toLinkAnswer(shared, baseUrl());
  const cut =
    dropped > 0
      ? [`Only the start of ${stream} was kept; the last ${formatBytes(dropped)} were dropped.`]
      : [];
  return { link, lines: [`Full ${stream}: ${link.text}`, ...cut] };
}

export function toOutputLines({ stdout, stderr }: Execution): string[] {
  const trimmed = (text: string): string[] => (text === '' ? [] : [text.replace(/\n$/, '')]);
  return [...trimmed(stdout), ...(stderr === '' ? [] : ['--- stderr ---', ...trimmed(stderr)])];
}

/** How it ended and what it changed, in a line each. */
export function toEndLines(record: RunRecord, execution: Execution): string[] {
  const { artifacts, workingDir, limits } = execution;
  const { created, modified, deleted } = artifacts;
  return [
    describeEndOfRun(execution),
    ...toNameLines([
      ...groupByFolder('Created', workingDir, created),
      ...groupByFolder('Modified', workingDir, modified),
      ...groupByFolder('Deleted', workingDir, deleted),
    ]),
    ...describeUnnamedChanges(artifacts),
    ...toTemporaryLines(execution),
    ...listLosses(showEnd(execution), artifacts),
    ...record.describe(execution, 'end'),
    ...describeUnenforced(limits.unenforced),
  ];
}

interface NamedChanges {
  readonly what: string;
  readonly names: readonly string[];
}

/** Names are relative to the working directory, unless they are absolute. */
function groupByFolder(what: string, workingDir: string, names: readonly string[]): NamedChanges[] {
  if (names.length === 0) return [];
  const isWhole = (name: string): boolean => name.startsWith('/');
  return [
    {
      what: `${what} in ${quoteChangedName(workingDir)}`,
      names: names.filter((name) => !isWhole(name)),
    },
    { what, names: names.filter(isWhole) },
  ];
}

/** How it ended, in a line. */
export const describeEndOfRun = (execution: Execution): string =>
  `[${execution.id}: ${describeEnd(showEnd(execution))}]`;

/** In all lines together: whoever needs more can list the folder. */
const maxNamedChanges = 20;
const maxChangeNameLength = 200;

function toNameLines(lists: readonly NamedChanges[]): string[] {
  const filled = lists.filter(({ names }) => names.length > 0);
  const most = Math.floor(maxNamedChanges / filled.length);
  return filled.map(({ what, names }) => {
    const more = names.length > most ? ` and ${names.length - most} more` : '';
    return `${what}: ${names.slice(0, most).map(quoteChangedName).join(', ')}${more}`;
  });
}

function quoteChangedName(name: string): string {
  const start = name.slice(0, maxChangeNameLength);
  return `${quoteName(start)}${start === name ? '' : '…'}`;
}

/** The longest wait that one call of get_execution takes: most clients give up on a call after a minute. */
export const maxWaitMs = 50_000;

/** How to go on with a run that is under way; null: what it prints cannot be read by offsets here. */
export function describeNextStep(id: string, outputFrom: number | null): string {
  const next = {
    execution_id: id,
    wait_ms: maxWaitMs,
    ...(outputFrom === null ? {} : { output_from: outputFrom }),
  };
  const gives = outputFrom === null ? '' : ', and gives the output from there on';
  return `Next: get_execution ${JSON.stringify(next)} waits for its end${gives}. cancel_execution ends it.`;
}

/** A part of what a run printed, with the offsets in words. */
export function toPartLines(part: OutputPart, asked: number, isRunning: boolean): string[] {
  const { text, from, next, end } = part;
  if (end === 0) return [isRunning ? 'No output yet.' : 'No output.'];
  return [
    ...(from > asked ? [`[... truncated ${from - asked} chars ...]`] : []),
    `--- output from ${from} to ${next} of ${end} characters${isRunning ? ' so far' : ''}, stderr too ---`,
    ...(text === '' ? [] : [text.replace(/\n$/, '')]),
  ];
}

/** The answer of a call whose run goes on without it. */
export function buildRunningAnswer(
  record: RunRecord,
  live: LiveRun,
  slot: CellSlot | null,
  bounds: OutputBounds,
  now: number,
): ToolAnswer<z.input<typeof endedShape>> {
  const { id, begun, background } = live;
  const output = live.output.read(0, bounds.most);
  const durationMs = Math.max(0, now - begun.startedAt);
  const { timeoutMs, unenforced } = begun.limits;
  const end = { end_reason: 'running', exit_code: null, signal: null, duration_ms: durationMs } as const;
  return {
    text: [
      ...toPartLines(output, 0, true),
      `[${id}: ${describeEnd(end)}]`,
      ...describeBackground(background),
      `It goes on without this call; its limit is ${formatDuration(timeoutMs)}. Changed files are told at its end.`,
      describeNextStep(id, output.next),
      ...toCellLines({ state: null }, slot),
      ...record.describe(begun, 'running'),
      ...describeUnenforced(unenforced),
    ].join('\n'),
    structured: {
      execution_id: id,
      language: begun.language,
      stdout: output.text,
      stderr: '',
      ...end,
      timed_out: false,
      truncated: output.from > 0,
      artifacts: showDifference(unseenDifference),
      unenforced: [...unenforced],
      hint: null,
      results: [],
      more_results: 0,
      full_stdout: null,
      full_stderr: null,
      background,
      output_next: output.next,
      ...(slot === null ? {} : { session: showCell({ state: null }, slot) }),
      ...record.answer.show(begun),
    },
  };
}
