/**
 * Shell commands that send a file or a listing from the client's machine, and the parser of such listings. Everything
 * is quoted for sh. It runs nothing: the agent does, on its own machine.
 */
import { isUtf8 } from 'node:buffer';
import { WorkcrateError } from '../../../platform/errors.ts';
import { mayBeShortName, type RawEnd } from '../policy/policy.ts';
import type { FileRequest, RawEntry } from './file-request.ts';

/** Quotes anything for sh: within single quotes, nothing but their end means anything. */
export const quoteForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Plain words stay as they are: the checks of careful clients, and people, read those best. */
const toShellWord = (text: string): string => (/^[\w./-]+$/.test(text) ? text : quoteForShell(text));

/** Begins with `./`, so that no name passes for an option or for standard input. */
const toRelativeArgument = (relative: string): string => toShellWord(relative === '' ? '.' : `./${relative}`);

/** A file to send, and the URL that takes it. */
export interface FileToSend {
  /** From the project's folder. */
  readonly path: string;
  readonly url: string;
}

/**
 * For sh in the project's folder: sends files by one curl, or nothing where one of them is missing, no file, or behind
 * a link. A folder would go as an empty file, and a pipe would never end. There is no substitution and no brace in it:
 * clients that check commands refuse those. `-g`, since curl would take brackets in a name for a list of names.
 */
export function buildSendFilesCommand(files: readonly FileToSend[]): string {
  const paths = files.map(({ path }) => path);
  const isFile = paths.map(toRelativeArgument).flatMap((file) => [`test -f ${file}`, `test ! -L ${file}`]);
  const sent = files.map(({ path, url }) => `-T ${toRelativeArgument(path)} ${quoteForShell(url)}`);
  return [
    ...buildLinkTests(paths),
    ...buildNameTests(paths),
    ...isFile,
    `curl -sS --fail-with-body -g ${sent.join(' ')}`,
  ].join(' && ');
}

/** What takes the place of `-printf …` in a listing command on macOS and BSD, whose find has no such thing. */
export const bsdListingForm = "-print0 | xargs -0 stat -f '%Sp%t%z%t%m%t%N'";
const gnuListingForm = "-printf '%y\\t%s\\t%T@\\t%P\\0'";

/**
 * For sh in the project's folder: sends a listing of a folder. The folder itself comes last (`-depth`), which tells a
 * whole listing from one that was cut off.
 */
export function buildSendListingCommand({ path, recursive, pattern }: FileRequest, url: string): string {
  const folder = toRelativeArgument(path.relative);
  const isFolder = path.relative === '' ? [] : [`test -d ${folder}`, `test ! -L ${folder}`];
  const depth = recursive ? '' : ' -maxdepth 1';
  const find = `find ${folder}${depth} -depth${buildPatternTest(path.relative, pattern)} ${gnuListingForm}`;
  const sent = `${find} | curl -sS --fail-with-body -T - ${quoteForShell(url)}`;
  return [...buildLinkTests([path.relative]), ...buildNameTests([path.relative]), ...isFolder, sent].join(
    ' && ',
  );
}

/** Tests for sh that a name which a disk of Windows may know as short for another, hidden one is the very name. */
function buildNameTests(paths: readonly string[]): string[] {
  const tests = paths.flatMap((path) => {
    const names = path.split('/');
    return names.flatMap((name, at) => {
      const folder = toRelativeArgument(names.slice(0, at).join('/'));
      return mayBeShortName(name) ? [`ls -a ${folder} | grep -qxF -e ${quoteForShell(name)}`] : [];
    });
  });
  return [...new Set(tests)];
}

/** Tests for sh that no folder above these paths is a link: where a link leads was not checked. */
function buildLinkTests(paths: readonly string[]): string[] {
  const folders = paths.flatMap((path) => {
    const names = path.split('/').slice(0, -1);
    return names.map((_, at) => names.slice(0, at + 1).join('/'));
  });
  return [...new Set(folders)].map((folder) => `test ! -L ${toRelativeArgument(folder)}`);
}

/**
 * The pattern for find, beside the folder itself, which ends the listing. It takes no less than ours does, whatever find
 * and its language make of a character, and hardly more: what it takes too much is left out here.
 */
function buildPatternTest(relative: string, pattern: string | null): string {
  if (pattern === null) return '';
  const folder = relative === '' ? '.' : `./${relative}`;
  const parts = pattern.split('/').filter((part) => part !== '');
  const wanted = toFindPattern(parts.join('/'));
  if (wanted === '*' || wanted === '') return '';
  const above = toFindLiteral(folder);
  // Of find, * takes slashes as well.
  const test = pattern.includes('/')
    ? `-path ${quoteForShell(`${above}/${wanted}`)}`
    : `-name ${quoteForShell(wanted)}`;
  return ` '(' -path ${toShellWord(above)} -o ${test} ')'`;
}

/** Plain letters alone are the same in every language: any other may be two of them, or one of two ways to write it. */
const toFindPattern = (pattern: string): string =>
  pattern
    .replace(/(?:\*\*\/)+/g, '*')
    .replace(/\/\*\*$/, '*')
    .replaceAll('?', '?*')
    .replace(/[^\w.*?/-]+/g, '*')
    .replace(/\*+/g, '*');

/** A name as itself: one character for each that means more in a pattern. */
const toFindLiteral = (path: string): string => path.replace(/[*?[\]\\]/g, '?');

const maxRecordBytes = 32 * 1024;

/** What ends a record: GNU find writes NULs, all others line feeds. Which of them it is shows in the first record. */
const recordEnds = { find: 0, lines: 10 };

type ListingForm = keyof typeof recordEnds;

/**
 * The last record of a whole listing that find did not write; find writes the folder itself there. Without it, a command
 * that failed half way looks like one that did not.
 */
export const endRecord = '{"end":true}';

export interface ListingTextOptions {
  /** Whether it is whole where it ends, as what somebody typed is; all else has to say so by its last record. */
  readonly isWhole: boolean;
  /** The folder that is listed, from the project's: BSD names each path from there. */
  readonly folder: string;
}

/**
 * Reads a listing as clients write them, in whichever way: records of GNU find, lines of BSD stat, one JSON object a
 * line, lines of `type size mtime path`, or plain paths. What is none of these is null, so that whoever reads can
 * count it: a listing may be made of nothing else.
 */
export async function* parseListing(
  chunks: AsyncIterable<Uint8Array>,
  { isWhole, folder }: ListingTextOptions,
): AsyncGenerator<RawEntry | null, RawEnd> {
  let [rest, hasEnded] = [Buffer.alloc(0), isWhole];
  let form: ListingForm | null = null;
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([rest, chunk]);
    let start = form === null ? countMarkBytes(bytes) : 0;
    form ??= detectListingForm(bytes);
    for (let end = findRecordEnd(bytes, form, start); end !== -1; end = findRecordEnd(bytes, form, start)) {
      const entry = parseRecord(bytes.subarray(start, end), form!, folder);
      start = end + 1;
      if (entry === 'end') hasEnded = true;
      else yield entry;
    }
    rest = form === null ? bytes : Buffer.from(bytes.subarray(start));
    if (rest.length > maxRecordBytes)
      throw new WorkcrateError('invalid_input', 'This is not a listing: a line of it is too long.');
  }
  const last = parseLastRecord(rest, form, folder);
  if (last !== null && last !== 'end') yield last;
  return { end: hasEnded || last === 'end' ? 'whole' : 'unknown', hidden: 0 };
}

const findRecordEnd = (bytes: Buffer, form: ListingForm | null, from: number): number =>
  form === null ? -1 : bytes.indexOf(recordEnds[form], from);

/** A line in a name must not end the record of find that holds it, so the tabs of find are looked for. */
function detectListingForm(bytes: Buffer): ListingForm | null {
  if (isFromFind(bytes)) return bytes.includes(recordEnds.find) ? 'find' : null;
  return bytes.includes(recordEnds.lines) ? 'lines' : null;
}

const isFromFind = (bytes: Buffer): boolean =>
  /^[a-zA-Z?]\t\d+\t-?[\d.]+\t/.test(bytes.toString('latin1', 0, 64));

/** The mark of UTF-8, which Windows writes, is no part of the first path. */
function countMarkBytes(bytes: Buffer): number {
  const mark = bytes.toString('hex', 0, 2);
  if (mark === 'fffe' || mark === 'feff')
    throw new WorkcrateError(
      'invalid_input',
      'The listing came in UTF-16. Call again, and send it in UTF-8.',
    );
  return bytes.toString('hex', 0, 3) === 'efbbbf' ? 3 : 0;
}

/** Lines may lack the last line feed. What find wrote was cut off there, and may be half a name. */
function parseLastRecord(rest: Buffer, form: ListingForm | null, folder: string): RawEntry | 'end' | null {
  if (form === 'find' || (form === null && isFromFind(rest))) return null;
  return parseRecord(rest.subarray(form === null ? countMarkBytes(rest) : 0), 'lines', folder);
}

function parseRecord(record: Buffer, form: ListingForm, folder: string): RawEntry | 'end' | null {
  // No string can name it again.
  if (!isUtf8(record)) return null;
  const text = record.toString('utf8');
  const line = form === 'find' ? text : text.replace(/\r$/, '');
  if (line.trim() === '') return null;
  if (line.startsWith('{')) return parseJsonRecord(line);
  const tabbed = /^(?<type>[a-zA-Z?])\t(?<size>\d+)\t(?<seconds>-?[\d.]+)\t(?<path>[^]*)$/.exec(line)?.groups;
  if (tabbed) return parseFindRecord(tabbed);
  const stated = /^(?<type>[-bcdlpsw])\S{9} ?\t(?<size>\d+)\t(?<seconds>-?[\d.]+)\t(?<path>[^]+)$/.exec(
    line,
  )?.groups;
  if (stated) return parseFindRecord({ ...stated, path: cutFolder(stated['path']!, folder) });
  const worded = /^(?<type>file|folder|link|other) (?<size>\d+|-) (?<mtime>\S+) (?<path>.+)$/.exec(
    line,
  )?.groups;
  if (worded) return parseWordedRecord(worded);
  const path = line.trim();
  return path.endsWith('/')
    ? createRawEntry(path.slice(0, -1), 'folder', null, null)
    : createRawEntry(path, null, null, null);
}

type RecordParts = Record<string, string>;

const findTypeNames: Readonly<Record<string, string>> = { f: 'file', '-': 'file', d: 'folder', l: 'link' };

/** The folder itself, which has no path from there, comes last. */
function parseFindRecord({ type, size, seconds, path }: RecordParts): RawEntry | 'end' {
  if (path === '') return 'end';
  return createRawEntry(path!, findTypeNames[type!] ?? 'other', Number(size), Number(seconds) * 1000);
}

/** The path from the listed folder on; empty for that folder. What is not below it stays, and is refused later. */
function cutFolder(path: string, folder: string): string {
  const listed = folder === '' ? '.' : `./${folder}`;
  if (path === listed) return '';
  return path.startsWith(`${listed}/`) ? path.slice(listed.length + 1) : path;
}

function parseWordedRecord({ type, size, mtime, path }: RecordParts): RawEntry {
  const time = /^\d+$/.test(mtime!) ? Number(mtime) : Date.parse(mtime!);
  return createRawEntry(path!, type!, size === '-' ? null : Number(size), Number.isNaN(time) ? null : time);
}

function parseJsonRecord(line: string): RawEntry | 'end' | null {
  try {
    const { path, type, size, mtime, end } = JSON.parse(line) as Record<string, unknown>;
    if (typeof path !== 'string') return end === true ? 'end' : null;
    return createRawEntry(
      path,
      typeof type === 'string' ? type : null,
      toFiniteNumber(size),
      toFiniteNumber(mtime),
    );
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

const toFiniteNumber = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

const createRawEntry = (
  path: string,
  type: string | null,
  size: number | null,
  mtime: number | null,
): RawEntry => ({
  path,
  type,
  size,
  mtime: mtime === null ? null : Math.trunc(mtime),
});
