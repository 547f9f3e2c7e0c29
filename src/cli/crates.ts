import { pipeline } from 'node:stream/promises';
import type { Crates, SourceReport, SyncProgress } from '../features/crates/crates.ts';
import { crateSpecificationVersions } from '../features/packing/pack.ts';
import { toListingAnswer, toSearchAnswer } from '../features/crates/tools/schema.ts';
import { getErrno, type WorkcrateError } from '../platform/errors.ts';
import type { SubcommandOf } from './core-commands.ts';
import type { ProgramInput } from './command.ts';
import { checkCrate, openCrateDesk, type CrateDesk } from './crate-desk.ts';
import { formatTable } from '../platform/command-line/table.ts';
import { usageError } from '../platform/command-line/usage-error.ts';

type CrateSearchPage = Awaited<ReturnType<Crates['search']>>;
type CrateStatusSummary = Awaited<ReturnType<Crates['get']>>;
type ListedCrateFiles = Awaited<ReturnType<Crates['inside']['list']>>;
type CratesStatus = Awaited<ReturnType<Crates['status']>>;

/** Names and texts of others end up in a terminal, which acts on some characters. */
const stripControlCharacters = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ');

const shortenText = (text: string, most: number): string =>
  stripControlCharacters(text).length <= most
    ? stripControlCharacters(text)
    : `${stripControlCharacters(text).slice(0, most - 1)}…`;

function formatFoundCrates({ total, results, next, notes }: CrateSearchPage): string {
  const rows = results.map(({ crateId, title, authors, year }) => [
    crateId,
    year === null ? '' : String(year),
    shortenText(title, 60),
    shortenText(authors.join(', '), 40),
  ]);
  const more = next === null ? '' : `more with --offset ${next}\n`;
  const noteLines = notes.map((note) => `note: ${stripControlCharacters(note)}\n`).join('');
  if (rows.length === 0) return `${noteLines}nothing found\n`;
  return `${formatTable([['CRATE', 'YEAR', 'TITLE', 'AUTHORS'], ...rows])}${total} found\n${more}${noteLines}`;
}

function formatCrateSummary(summary: CrateStatusSummary): string {
  const lines: [string, string][] = [
    ['title', summary.title],
    ['crate', summary.crate_id],
    ['at', summary.resource_locator],
    ['authors', summary.authors.join(', ')],
    ['published', summary.date_published ?? 'not stated'],
    ['licence', summary.license?.name ?? summary.license?.id ?? 'not stated'],
    ['keywords', summary.keywords.join(', ')],
    ['spec', summary.spec_version ?? 'not stated'],
    ['profiles', summary.profiles.join(', ')],
    ['holds', `${summary.entity_count} entities, ${summary.file_count} files`],
    [
      'types',
      summary.types
        .slice(0, 20)
        .map(({ type, count }) => `${type} ${count}`)
        .join(', '),
    ],
    ['about', summary.description],
  ];
  const shown = lines
    .filter(([, value]) => value !== '')
    .map(([what, value]) => `${`${what}:`.padEnd(11)}${shortenText(value, 2000)}\n`);
  const issues = summary.issues.map(
    ({ code, message, count }) => `issue:     ${code} (${count}): ${stripControlCharacters(message)}\n`,
  );
  return [...shown, ...issues].join('');
}

function formatCrateFiles({ total, files, next, unsafe }: ListedCrateFiles): string {
  const rows = files.map(({ path, size, modified }) => [
    String(size),
    modified === null ? '' : new Date(modified).toISOString().slice(0, 16).replace('T', ' '),
    stripControlCharacters(path),
  ]);
  const more = next === null ? '' : `more with --offset ${next}\n`;
  const left =
    unsafe === 0
      ? ''
      : `${unsafe} entries are not listed, because their names lead outside the crate or cannot be read\n`;
  return `${formatTable([['BYTES', 'MODIFIED', 'PATH'], ...rows])}${total} files\n${more}${left}`;
}

function formatSourceReports(reports: readonly SourceReport[]): string {
  if (reports.length === 0) return 'There are no crate sources. Set them with --crate-sources.\n';
  const rows = reports.map(({ source, state, seen, read, unchanged, broken, removed }) => [
    stripControlCharacters(source),
    state,
    ...[seen, read, unchanged, broken, removed].map(String),
  ]);
  const reasons = reports.flatMap(({ source, reason }) =>
    reason === null ? [] : [`${stripControlCharacters(source)}: ${stripControlCharacters(reason)}\n`],
  );
  return `${formatTable([['SOURCE', 'STATE', 'SEEN', 'READ', 'UNCHANGED', 'BROKEN', 'REMOVED'], ...rows])}${reasons.join('')}`;
}

function formatCratesStatus(status: CratesStatus): string {
  const { sources, broken_crates: broken, semantic } = status;
  const rows = sources.map((one) => [
    stripControlCharacters(one.source),
    one.state,
    one.synced_at ?? 'never',
    String(one.crates),
    String(one.broken),
  ]);
  const list = broken.map(
    ({ resource_locator, code, reason }) =>
      `broken: ${stripControlCharacters(resource_locator)}: ${stripControlCharacters(reason)} (${code})\n`,
  );
  const meaning = `search by meaning: ${semantic.provider}, ${semantic.documents} crates${semantic.stale ? ', updating' : ''}\n`;
  return `${formatTable([['SOURCE', 'STATE', 'SYNCED', 'CRATES', 'BROKEN'], ...rows])}${status.crates} crates, ${status.broken} broken\n${meaning}${list.join('')}`;
}

type CratesFlags = Readonly<Record<string, string | undefined>>;

const searchModes = ['keyword', 'semantic', 'hybrid'] as const;

function parseSearchMode(flags: CratesFlags): (typeof searchModes)[number] {
  const given = flags['mode'] ?? 'hybrid';
  const mode = searchModes.find((one) => one === given);
  if (mode === undefined)
    throw cratesUsageError(`--mode takes one of ${searchModes.join(', ')}, not ${JSON.stringify(given)}`);
  return mode;
}

/** `--filter license=MIT`, any number of times. */
function parseFilters(flags: CratesFlags): [string, string][] {
  return splitFlagLines(flags, 'filter').map((line) => {
    const at = line.indexOf('=');
    if (at < 1) throw cratesUsageError(`--filter takes FIELD=VALUE, not ${JSON.stringify(line)}`);
    return [line.slice(0, at), line.slice(at + 1)];
  });
}

function parseCount(flags: CratesFlags, name: string, fallback: number, most: number): number {
  const given = flags[name];
  if (given === undefined) return fallback;
  const count = /^\d{1,10}$/.test(given) ? Number(given) : Number.NaN;
  if (!(count <= most))
    throw cratesUsageError(`--${name} takes a whole number up to ${most}, not ${JSON.stringify(given)}`);
  return count;
}

function parseSpecification({ specification }: CratesFlags) {
  const version = crateSpecificationVersions.find((one) => one === (specification ?? '1.1'));
  if (version === undefined)
    throw cratesUsageError(
      `--specification takes one of ${crateSpecificationVersions.join(', ')}, not ${JSON.stringify(specification)}`,
    );
  return version;
}

function toPackRequest(flags: CratesFlags, executionIds: readonly string[]) {
  const wrong = executionIds.find((id) => !/^exec_[0-9a-f]{12}$/.test(id));
  if (wrong !== undefined)
    throw cratesUsageError(`an execution looks like exec_ and 12 hex digits, not ${JSON.stringify(wrong)}`);
  const { title, description, license } = flags;
  const authors = splitFlagLines(flags, 'author').map((name) => ({ name }));
  const keywords = splitFlagLines(flags, 'keyword');
  return {
    executionIds,
    specification: parseSpecification(flags),
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(license === undefined ? {} : { license }),
    ...(authors.length === 0 ? {} : { authors }),
    ...(keywords.length === 0 ? {} : { keywords }),
    shared: flags['shared'] !== undefined,
  };
}

const toBulletLines = (lines: readonly string[]): string[] => lines.map((line) => `- ${line}`);

const splitFlagLines = (flags: CratesFlags, name: string): string[] => flags[name]?.split('\n') ?? [];

const cratesUsageError = (problem: string): WorkcrateError => usageError(problem, 'crates');

type Action = (desk: CrateDesk, input: ProgramInput, words: readonly string[]) => Promise<string | number>;

const cratesActions: Readonly<Record<SubcommandOf<'crates'>, Action>> = {
  index: bringUpToDate,
  search: searchCommand,
  show: printCrate,
  files: printCrateFiles,
  read: readCommand,
  pack: packCommand,
  status: statusCommand,
};

/** `workcrate crates …`: what the tools for crates do, from the command line. Works beside a running server. */
export async function runCrates(input: ProgramInput): Promise<number> {
  const [name, ...words] = input.words;
  await using desk = await openCrateDesk(input);
  const told = await cratesActions[name as SubcommandOf<'crates'>](desk, input, words);
  if (typeof told === 'number') return told;
  process.stdout.write(told);
  return 0;
}

/** `workcrate index` */
export const runIndex = (input: ProgramInput): Promise<number> => runCrates({ ...input, words: ['index'] });

const wantsJson = ({ flags }: ProgramInput): boolean => flags['json'] !== undefined;
const toPrettyJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

async function bringUpToDate({ crates, signal }: CrateDesk, input: ProgramInput): Promise<number> {
  const isTerminal = process.stderr.isTTY;
  const { reports } = await crates.sync({
    signal,
    wait: true,
    report(progress) {
      if (isTerminal) process.stderr.write(`\r${formatSyncProgress(progress)} …`);
    },
  });
  if (isTerminal) process.stderr.write('\r\u001b[K');
  process.stdout.write(wantsJson(input) ? toPrettyJson({ sources: reports }) : formatSourceReports(reports));
  return reports.some(({ state }) => state !== 'ok') ? 1 : 0;
}

const formatSyncProgress = (progress: SyncProgress): string =>
  'waiting' in progress
    ? 'another process is updating the index'
    : `${progress.seen} seen, ${progress.read} read, ${progress.broken} broken`;

async function searchCommand(
  { crates, caller, signal }: CrateDesk,
  input: ProgramInput,
  words: readonly string[],
) {
  const request = {
    query: words.join(' '),
    mode: parseSearchMode(input.flags),
    filters: parseFilters(input.flags),
    limit: parseCount(input.flags, 'limit', 10, 100),
    offset: parseCount(input.flags, 'offset', 0, 10_000),
  };
  const page = await crates.search(caller, request, signal);
  return wantsJson(input) ? toPrettyJson(toSearchAnswer(request.query, page)) : formatFoundCrates(page);
}

async function printCrate(desk: CrateDesk, input: ProgramInput, words: readonly string[]) {
  const summary = await checkCrate(desk, words[0]!);
  return wantsJson(input) ? toPrettyJson(summary) : formatCrateSummary(summary);
}

async function printCrateFiles(desk: CrateDesk, input: ProgramInput, words: readonly string[]) {
  const { crates, caller, signal } = desk;
  await checkCrate(desk, words[0]!);
  const request = {
    glob: input.flags['glob'] ?? null,
    limit: parseCount(input.flags, 'limit', 1000, 1e9),
    offset: parseCount(input.flags, 'offset', 0, 1e9),
  };
  const listing = await crates.inside.list(caller, words[0]!, request, signal);
  return wantsJson(input) ? toPrettyJson(toListingAnswer(words[0]!, listing)) : formatCrateFiles(listing);
}

/** To stdout, byte for byte. */
async function readCommand(desk: CrateDesk, _input: ProgramInput, words: readonly string[]) {
  const { crates, caller, signal } = desk;
  await checkCrate(desk, words[0]!);
  const bytes = crates.inside.stream(caller, words[0]!, words[1]!, signal);
  try {
    await pipeline(copyEachChunk(bytes), process.stdout, { end: false });
  } catch (error) {
    // The reader has enough, as `head` does.
    if (getErrno(error) !== 'EPIPE') throw error;
  }
  return 0;
}

/** A chunk is good only until the next one is asked for. */
async function* copyEachChunk(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) yield Buffer.from(chunk);
}

async function packCommand(
  { packing, caller, signal }: CrateDesk,
  input: ProgramInput,
  words: readonly string[],
) {
  const request = toPackRequest(input.flags, words);
  const watching = { signal, progress: () => {} };
  const packed = await packing.pack(caller, request, watching, async (indexed) => indexed);
  const { crateId, locator, size, notes } = packed;
  if (wantsJson(input)) return toPrettyJson({ crate_id: crateId, resource_locator: locator, size, notes });
  return [`Packed as ${crateId}: ${locator} (${size} bytes)`, ...toBulletLines(notes), ''].join('\n');
}

async function statusCommand({ crates, caller, signal }: CrateDesk, input: ProgramInput) {
  const told = await crates.status(
    caller,
    { limit: parseCount(input.flags, 'limit', 100, 1000), offset: 0 },
    signal,
  );
  return wantsJson(input) ? toPrettyJson(told) : formatCratesStatus(told);
}
