/**
 * Shell commands that send a file or a listing from the client's machine, and the parser of such listings. Everything
 * is quoted for sh. It runs nothing: the agent does, on its own machine.
 */
import { isUtf8 } from 'node:buffer';
import { WorkcrateError } from '../../errors.ts';
import type { RawEnd } from '../policy/policy.ts';
import type { FileRequest, RawEntry } from './file-request.ts';

/** Quotes anything for sh: within single quotes, nothing but their end means anything. */
export const quoteForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Begins with `./`, so that no name passes for an option or for standard input. */
const toRelativeArgument = (relative: string): string =>
  quoteForShell(relative === '' ? '.' : `./${relative}`);

/** `-g`, since curl would take braces and brackets in a name for a list of names. */
const buildCurlCommand = (from: string, url: string): string =>
  `curl -sS --fail-with-body -g -T ${from} ${quoteForShell(url)}`;

/** Goes before what is done only where a condition holds: a command that does nothing says why. */
const guardCommand = (condition: string, unless: string): string =>
  `{ ${condition} || { echo ${quoteForShell(`Nothing was sent: ${unless}`)} >&2; false; }; } && `;

/** For sh in the project's folder: sends one file. A folder would go as an empty file, and a pipe would never end. */
export function buildSendFileCommand({ path }: FileRequest, url: string): string {
  const file = toRelativeArgument(path.relative);
  const folder = path.relative.split('/').slice(0, -1).join('/');
  const isFile = `${buildNoLinkTest(folder)}[ -f ${file} ] && [ ! -L ${file} ]`;
  return `${guardCommand(isFile, describeAbsence('file'))}${buildCurlCommand(file, url)}`;
}

/** For sh in the project's folder: sends a listing of a folder, by GNU find or else by Python. */
export function buildSendListingCommand(request: FileRequest, url: string): string {
  const folder = toRelativeArgument(request.path.relative);
  const isFolder = `${buildNoLinkTest(request.path.relative)}[ -d ${folder} ] && [ ! -L ${folder} ]`;
  const canList = `${hasFindTest} || command -v python3 >/dev/null`;
  const lister = `{ if ${hasFindTest}; then ${buildFindCommand(request)}; else ${buildPythonCommand(request)}; fi; }`;
  return `${guardCommand(isFolder, describeAbsence('folder'))}${guardCommand(canList, noListerMessage)}${lister} | ${buildCurlCommand('-', url)}`;
}

const describeAbsence = (what: string): string =>
  `there is no such ${what} below this folder, or its path contains a link. Run this in the folder of the project.`;
const noListerMessage =
  'this needs GNU find or python3, and neither is installed. Install one of them, or list another way.';

/** Others have no -printf. */
const hasFindTest = "find . -maxdepth 0 -printf '' 2>/dev/null";

/** A test for sh that no part of the path is a link: where a link leads was not checked. */
function buildNoLinkTest(folder: string): string {
  if (folder === '') return '';
  return `[ "$(cd -P ${toRelativeArgument(folder)} && pwd -P)" = "$(pwd -P)"${quoteForShell(`/${folder}`)} ] && `;
}

/** Ends records with NUL, the one character that no name can hold. The last is written only if all went well. */
function buildFindCommand({ path, recursive, pattern }: FileRequest): string {
  const depth = recursive ? '' : ' -maxdepth 1';
  const name = toFindPattern(pattern) === null ? '' : ` -name ${quoteForShell(pattern!)}`;
  return `find ${toRelativeArgument(path.relative)} -mindepth 1${depth}${name} -printf '%y\\t%s\\t%T@\\t%P\\0' && printf '%s\\0' ${quoteForShell(endRecord)}`;
}

/** A pattern that find means as we do; any other is applied here alone. */
const toFindPattern = (pattern: string | null): string | null =>
  pattern !== null && /^[\w.*-]+$/.test(pattern) && !pattern.includes('**') ? pattern : null;

/** As find does, it goes on past what it may not see, and then does not say that it is done. */
const pythonListingScript = `import json, os, sys
whole = True
def walk(folder, prefix):
    global whole
    try:
        for e in os.scandir(folder):
            s = e.stat(follow_symlinks=False)
            kind = "link" if e.is_symlink() else "folder" if e.is_dir() else "file" if e.is_file() else "other"
            print(json.dumps({"path": prefix + e.name, "type": kind, "size": s.st_size, "mtime": s.st_mtime * 1000}))
            if kind == "folder" and sys.argv[2] == "all": walk(e.path, prefix + e.name + "/")
    except OSError as error:
        whole = False
        print(error, file=sys.stderr)
walk(sys.argv[1], "")
if whole: print(json.dumps({"end": True}))`;

const buildPythonCommand = ({ path, recursive }: FileRequest): string =>
  `python3 -c ${quoteForShell(pythonListingScript)} ${toRelativeArgument(path.relative)} ${recursive ? 'all' : 'one'}`;

const maxRecordBytes = 32 * 1024;

/** What ends a record: find writes NULs, all others line feeds. Which of them it is shows in the first record. */
const recordEnds = { find: 0, lines: 10 };

type ListingForm = keyof typeof recordEnds;

/** The last record of a whole listing. Without it, a command that failed half way looks like one that did not. */
export const endRecord = '{"end":true}';

export interface ListingTextOptions {
  /** Whether it is whole where it ends, as what somebody typed is; all else has to say so by its last record. */
  readonly isWhole: boolean;
}

/**
 * Reads a listing as clients write them, in whichever way: records of GNU find, one JSON object a line, lines of
 * `type size mtime path`, or plain paths. What is none of these is null, so that whoever reads can
 * count it: a listing may be made of nothing else.
 */
export async function* parseListing(
  chunks: AsyncIterable<Uint8Array>,
  { isWhole }: ListingTextOptions,
): AsyncGenerator<RawEntry | null, RawEnd> {
  let [rest, hasEnded] = [Buffer.alloc(0), isWhole];
  let form: ListingForm | null = null;
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([rest, chunk]);
    let start = form === null ? countMarkBytes(bytes) : 0;
    form ??= detectListingForm(bytes);
    for (let end = findRecordEnd(bytes, form, start); end !== -1; end = findRecordEnd(bytes, form, start)) {
      const entry = parseRecord(bytes.subarray(start, end), form!);
      start = end + 1;
      if (entry === 'end') hasEnded = true;
      else yield entry;
    }
    rest = form === null ? bytes : Buffer.from(bytes.subarray(start));
    if (rest.length > maxRecordBytes)
      throw new WorkcrateError('invalid_input', 'This is not a listing: a line of it is too long.');
  }
  const last = parseLastRecord(rest, form);
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

/** An empty folder has nothing but an end. */
const isFromFind = (bytes: Buffer): boolean =>
  /^[a-zA-Z?]\t\d+\t-?[\d.]+\t/.test(bytes.toString('latin1', 0, 64)) ||
  bytes.indexOf(`${endRecord}\0`) === 0;

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
function parseLastRecord(rest: Buffer, form: ListingForm | null): RawEntry | 'end' | null {
  if (form === 'find' || (form === null && isFromFind(rest))) return null;
  return parseRecord(rest.subarray(form === null ? countMarkBytes(rest) : 0), 'lines');
}

function parseRecord(record: Buffer, form: ListingForm): RawEntry | 'end' | null {
  // No string can name it again.
  if (!isUtf8(record)) return null;
  const text = record.toString('utf8');
  const line = form === 'find' ? text : text.replace(/\r$/, '');
  if (line.trim() === '') return null;
  if (line.startsWith('{')) return parseJsonRecord(line);
  const tabbed = /^(?<type>[a-zA-Z?])\t(?<size>\d+)\t(?<seconds>-?[\d.]+)\t(?<path>[^]+)$/.exec(line)?.groups;
  if (tabbed) return parseFindRecord(tabbed);
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

const findTypeNames: Readonly<Record<string, string>> = { f: 'file', d: 'folder', l: 'link' };

const parseFindRecord = ({ type, size, seconds, path }: RecordParts): RawEntry =>
  createRawEntry(path!, findTypeNames[type!] ?? 'other', Number(size), Number(seconds) * 1000);

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
