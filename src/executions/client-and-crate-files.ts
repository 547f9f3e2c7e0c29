/**
 * Inputs of a run that are not stored files: files of the client and files in crates. Both are found by functions that
 * `server/` hands in, after the scope of the caller was checked. Nothing is copied here: `input-files.ts` does.
 */
import { createHash } from 'node:crypto';
import { read } from 'node:fs';
import { promisify } from 'node:util';
import { z } from 'zod';
import { isWorkcrateError, WorkcrateError } from '../errors.ts';
import { listAs, makeText } from '../mcp/schema.ts';
import { isQuestion, type Question, type ToolContext } from '../mcp/tool.ts';
import { openBelow, parseName, type Components, type OpenFile } from '../paths/paths.ts';
import { formatBytes } from '../text.ts';
import type { OtherFile } from './input-files.ts';

/** How a run has files of the client's. */
export interface ClientFilePort {
  /** Most bytes that the files of one run may hold in memory. */
  readonly mostBytes: number;
  /** Refuses what can never be had, before anybody is asked. */
  demand(context: ToolContext, path: string): Promise<unknown>;
  /** Null where the client has to be asked. */
  find(context: ToolContext, path: string): Promise<RequestedClientFile | Question | null>;
  ask(context: ToolContext, path: string): Promise<RequestedClientFile | Question | SendInstructions>;
  /** How the client can send it of its own accord. */
  toSend(context: ToolContext, path: string): Promise<RequestedClientFile | SendInstructions>;
}

export interface RequestedClientFile {
  readonly path: string;
  readonly rung: string;
  readonly cached: boolean;
  readonly size: number;
  /** How many of its bytes are in memory. */
  readonly held: number;
  open(): AsyncIterable<Uint8Array>;
}

export interface SendInstructions {
  /** For sh, in the project's folder. */
  readonly command: string;
  /** Where a person sends it without a shell; null where nothing is sent. */
  readonly pageUrl: string | null;
}

/** A path alone stands for a file without options. */
const toFileOfClient = (given: unknown): unknown => (typeof given === 'string' ? { path: given } : given);

export const clientFilesInput = z
  .array(
    z.preprocess(
      toFileOfClient,
      z.strictObject({
        path: makeText(4096),
        as: makeText(255).optional(),
      }),
    ),
  )
  .refine((files) => files.length <= 20, 'client_files may name at most 20')
  .optional()
  .describe(
    'Files of your project to put there, under the name as. With a shell, send each first: read_client_file with via upload',
  );

type RequestedPaths = NonNullable<z.output<typeof clientFilesInput>>;

/** Clients give up on a call that asks too often, and people do so earlier. */
const maxAskedFiles = 8;

/** One question after the other: what has come is kept, so that the next round goes on with the next file. */
export async function findClientFiles(
  port: ClientFilePort | undefined,
  context: ToolContext,
  asked: RequestedPaths = [],
): Promise<readonly OtherFile[] | Question> {
  if (asked.length === 0) return [];
  const files = requireClientFilesAllowed(port, context);
  const names = toInputNames(asked);
  const paths = [...new Set(asked.map(({ path }) => path))];
  for (const path of paths) await files.demand(context, path).catch(refuseRun);
  const found = new Map<string, RequestedClientFile>();
  for (const path of paths) {
    const file = await files.find(context, path).catch(refuseRun);
    if (file !== null && isQuestion(file)) return file;
    if (file !== null) found.set(path, file);
    requireInputRoom(found, files.mostBytes);
  }
  const missing = paths.filter((path) => !found.has(path));
  if (missing.length > 0) return askForFiles(files, context, missing);
  return asked.map(({ path }, at) => toInputFile(found.get(path)!, names[at]!));
}

function toInputFile({ path, rung, cached, size, open }: RequestedClientFile, name: string): OtherFile {
  const origin = { client_path: path, rung, ...(cached ? { cached: 'true' } : {}) };
  return { name, origin, size, open };
}

/** Looked at before anybody is asked for anything. */
function toInputNames(asked: RequestedPaths): string[] {
  const names = asked.map(({ path, as }) => as ?? path.slice(path.lastIndexOf('/') + 1));
  for (const name of names) parseName(name);
  if (new Set(names).size < names.length)
    throw new WorkcrateError(
      'invalid_input',
      'Two client_files have the same name. Give one of them another name with as.',
    );
  return names;
}

async function askForFiles(
  files: ClientFilePort,
  context: ToolContext,
  missing: string[],
): Promise<Question> {
  const [first, ...others] = missing as [string, ...string[]];
  const tooMany = missing.length > maxAskedFiles;
  const answer = tooMany ? await files.toSend(context, first) : await files.ask(context, first);
  if (isQuestion(answer)) return answer;
  const rest = await Promise.all(others.map((path) => files.toSend(context, path)));
  const sent = [answer, ...rest].filter((each) => 'command' in each);
  const commands = new Set(sent.map(({ command }) => command));
  const pages = new Set(sent.map(({ pageUrl }) => pageUrl).filter((url) => url !== null));
  throw new WorkcrateError(
    'client_unsupported',
    `${missing.length} of the client_files must be sent first. Run this with sh in the project's folder:\n${[...commands].join('\n')}\nThen make the same call again. Without a shell: give the user these pages to upload them, ${[...pages].join(' ')} – or paste short texts with guide_cache_file.`,
  );
}

/** A new error for the run: the one of the file is in the audit log already, and each is logged once. */
function refuseRun(error: unknown): never {
  if (!isWorkcrateError(error, 'path_refused')) throw error;
  throw new WorkcrateError(error.code, error.message, { cause: error, details: { ...error.details } });
}

function requireInputRoom(found: ReadonlyMap<string, RequestedClientFile>, most: number): void {
  const held = found.values().reduce((sum, file) => sum + file.held, 0);
  if (held > most)
    throw new WorkcrateError(
      'too_large',
      `These client_files take more than ${formatBytes(most)} together. Send them by request_upload, and name them in files.`,
      { details: { limit: most } },
    );
}

function requireClientFilesAllowed(port: ClientFilePort | undefined, context: ToolContext): ClientFilePort {
  if (port === undefined)
    throw new WorkcrateError(
      'unsupported',
      'This server does not read files of clients. Leave client_files out.',
    );
  if (!context.mayUse('client'))
    throw new WorkcrateError(
      'forbidden',
      'Files of the client need the scope client, which this key or token lacks. Ask the operator for one that has it.',
      { details: { scope: 'client' } },
    );
  return port;
}

/** A file in a crate that a run is to be given, and its name there. */
export interface WantedCrateFile {
  readonly crateId: string;
  readonly path: string;
  readonly name: string;
}

/** Finds files in crates, in the order asked for. Rejects where the caller may not have one of them. */
export type FindCrateFiles = (
  context: ToolContext,
  wanted: readonly WantedCrateFile[],
) => Promise<readonly OtherFile[]>;

/** `CRATE_ID/PATH` stands for a file that keeps its name. */
function toFileOfCrate(given: unknown): unknown {
  if (typeof given !== 'string') return given;
  const [crateId = '', ...path] = given.split('/');
  return { crate_id: crateId, path: path.join('/') };
}

export const crateFilesInput = listAs(
  z
    .array(
      z.preprocess(
        toFileOfCrate,
        z.strictObject({
          crate_id: z
            .string()
            .regex(/^crate_[0-9a-f]{24}$/, 'a crate_id looks like crate_ and 24 hex digits'),
          path: z.string().min(1, 'name the file as CRATE_ID/PATH').max(4096),
          as: z.string().min(1).max(255).optional(),
        }),
      ),
    )
    .max(100)
    .optional(),
  { type: 'array', items: { type: 'string' }, description: 'Files of crates to put there, as CRATE_ID/PATH' },
);

/** Nothing is opened yet: a file is read while it is copied. */
export async function findCrateFiles(
  find: FindCrateFiles | undefined,
  context: ToolContext,
  asked: z.output<typeof crateFilesInput>,
): Promise<readonly OtherFile[]> {
  if (asked === undefined || asked.length === 0) return [];
  if (find === undefined)
    throw new WorkcrateError('unsupported', 'This server has no crates. Leave crate_files out.');
  if (!context.mayUse('crates'))
    throw new WorkcrateError(
      'forbidden',
      'Files of crates need the scope crates, which this key or token lacks. Ask the operator for one that has it.',
      { details: { scope: 'crates' } },
    );
  return find(
    context,
    asked.map(({ crate_id: crateId, path, as }) => ({
      crateId,
      path,
      name: as ?? path.slice(path.lastIndexOf('/') + 1),
    })),
  );
}

const readInto = promisify(read);
const hashChunkBytes = 256 * 1024;

/**
 * The sha256 of a regular file, by one descriptor, since code of the user's may exchange it meanwhile. Null where
 * no such file is there, `other` where it is not of this size.
 */
export async function hashExisting(
  root: string,
  path: Components,
  size: number,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    using file = openBelow(root).open(path);
    return file.stats.size === size ? await hashFile(file, size, signal) : 'other';
  } catch (error) {
    // A folder or link in its place fails when the file is created.
    if (isWorkcrateError(error, 'path_not_found') || isWorkcrateError(error, 'path_refused')) return null;
    throw error;
  }
}

/** Stops where it turns out to be longer. */
async function hashFile({ fd }: OpenFile, size: number, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(hashChunkBytes);
  for (let at = 0; ;) {
    signal.throwIfAborted();
    const { bytesRead } = await readInto(fd, chunk, 0, hashChunkBytes, at);
    at += bytesRead;
    if (bytesRead === 0) return at === size ? hash.digest('hex') : 'other';
    if (at > size) return 'other';
    hash.update(chunk.subarray(0, bytesRead));
  }
}
