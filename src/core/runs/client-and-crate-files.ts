/**
 * Inputs of a run that are not stored files: files of the client and files in crates. Both are found by functions that
 * `server/` hands in, after the scope of the caller was checked. Nothing is copied here: `input-files.ts` does.
 */
import { createHash } from 'node:crypto';
import { read } from 'node:fs';
import { promisify } from 'node:util';
import { z } from 'zod';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import { listAs, makeText } from '../offer/schema.ts';
import { isQuestion, type Question, type ToolContext } from '../offer/tool.ts';
import { openBelow, parseName, type Components, type OpenFile } from '../../platform/paths/paths.ts';
import { formatBytes, formatDuration, quoteName } from '../../platform/text/text.ts';
import type { InputFileRecord, OtherFile } from './input-files.ts';

/** How a run has files of the client's. */
export interface ClientFilePort {
  /** Most bytes that the files of one run may hold in memory. */
  readonly mostBytes: number;
  /** Refuses what can never be had, before anybody is asked. */
  demand(context: ToolContext, path: string): Promise<unknown>;
  /** Null where the client has to send it. */
  find(context: ToolContext, wanted: WantedClientFile): Promise<RequestedClientFile | Question | null>;
  /** How the client can send all of these. */
  offer(context: ToolContext, paths: readonly string[]): Promise<SendInstructions>;
}

/** A file of the client's, and how old a copy of it may be. */
export interface WantedClientFile {
  readonly path: string;
  readonly maxAgeSeconds?: number | undefined;
  readonly refresh?: boolean | undefined;
}

export interface RequestedClientFile {
  readonly path: string;
  readonly rung: string;
  /** How it came, in words. */
  readonly source: string;
  /** When it came, in milliseconds. */
  readonly receivedAt: number;
  readonly cached: boolean;
  readonly size: number;
  /** How many of its bytes are in memory. */
  readonly held: number;
  /** Its bytes. What was sent for this call counts as used when they were read to the end. */
  open(): AsyncIterable<Uint8Array>;
}

export interface SendInstructions {
  /** For sh, in the project's folder. */
  readonly command: string;
  /** Where a person sends them without a shell. */
  readonly pageUrls: readonly string[];
  /** In milliseconds. */
  readonly expiresAt: number;
}

/** A path alone stands for a file without options. */
const toFileOfClient = (given: unknown): unknown => (typeof given === 'string' ? { path: given } : given);

const maxAgeSeconds = 24 * 60 * 60;

export const clientFilesInput = z
  .array(
    z.preprocess(
      toFileOfClient,
      z.strictObject({
        path: makeText(4096),
        as: makeText(255).optional(),
        max_age_s: z
          .number()
          .refine((age) => age >= 0 && age <= maxAgeSeconds, `max_age_s is 0 to ${maxAgeSeconds} seconds.`)
          .optional(),
        refresh: z.boolean().optional(),
      }),
    ),
  )
  .refine((files) => files.length <= 20, 'client_files may name at most 20')
  .optional()
  .describe(
    'Files of your project to put there: src/a.py as a.py, unless as names it. Each run asks for them anew, unless max_age_s allows a copy',
  );

type RequestedPaths = NonNullable<z.output<typeof clientFilesInput>>;

/** What is here, or how all that is missing can be sent. Nobody but an agent's shell is asked here. */
export async function findClientFiles(
  port: ClientFilePort | undefined,
  context: ToolContext,
  asked: RequestedPaths = [],
): Promise<readonly OtherFile[] | Question> {
  if (asked.length === 0) return [];
  const files = requireClientFilesAllowed(port, context);
  const names = toInputNames(asked);
  for (const { path } of asked) await files.demand(context, path).catch(refuseRun);
  const found = new Map<string, RequestedClientFile>();
  const missing = new Set<string>();
  for (const { path, max_age_s: maxAgeSeconds, refresh } of asked) {
    if (found.has(path) || missing.has(path)) continue;
    const file = await files.find(context, { path, maxAgeSeconds, refresh }).catch(refuseRun);
    if (file !== null && isQuestion(file)) return file;
    if (file === null) missing.add(path);
    else found.set(path, file);
    requireInputRoom(found, files.mostBytes);
  }
  if (missing.size > 0) throw await notHereError(files, context, [...missing]);
  return asked.map(({ path }, at) => toInputFile(found.get(path)!, names[at]!));
}

function toInputFile(file: RequestedClientFile, name: string): OtherFile {
  const { path, rung, source, receivedAt, cached, size, open } = file;
  const received = { source, received_at: new Date(receivedAt).toISOString() };
  const origin = {
    client_path: path,
    rung,
    ...received,
    ...(cached && rung !== 'direct' ? { cached: 'true' } : {}),
  };
  return { name, origin, size, open, replacesInput: true };
}

/** How a file of the client's came, for the answer of a run. */
export const clientInputShape = z.object({
  path: z.string(),
  source: z.string().describe('How it came, in words'),
  age_s: z.number().describe('Seconds since it came when the run began'),
  cached: z.boolean().describe('Whether it is a remembered copy'),
});

type ClientInput = z.input<typeof clientInputShape>;

export const listClientInputs = (inputs: readonly InputFileRecord[], begunAt: number): ClientInput[] =>
  inputs.flatMap(({ origin }) => {
    const { client_path: path, source, received_at: received, cached } = origin ?? {};
    if (path === undefined || source === undefined || received === undefined) return [];
    const age = Math.max(0, Math.round((begunAt - Date.parse(received)) / 1000));
    return { path, source, age_s: age, cached: cached !== undefined };
  });

export function describeClientInput({ path, source, age_s: age, cached }: ClientInput): string {
  const hint = cached ? ' (remembered; refresh: true in client_files asks for it anew)' : '';
  const since = age === 0 ? '0 s' : formatDuration(age * 1000);
  return `From the client: ${quoteName(path)}, ${source} ${since} ago${hint}`;
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

async function notHereError(
  files: ClientFilePort,
  context: ToolContext,
  missing: readonly string[],
): Promise<WorkcrateError> {
  const { command, pageUrls, expiresAt } = await files.offer(context, missing);
  const until = `${new Date(expiresAt).toISOString().slice(0, 16)}Z`;
  return new WorkcrateError(
    'client_unsupported',
    [
      `Nothing was run: ${missing.length} of the client_files must be sent first. Run this in the project's folder before ${until}, then make the same call again:`,
      command,
      'If it exits with 1 and prints nothing, nothing was sent: one of them is missing, or leads through a link.',
      `Without a shell: give the user these pages to send them, ${pageUrls.join(' ')} – or paste short texts with guide_cache_file.`,
    ].join('\n'),
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
  { type: 'array', items: { type: 'string' }, description: 'Files of crates to put there: CRATE_ID/PATH' },
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
 * no such file is there, `other` where it is not of this size; null takes any size.
 */
export async function hashExisting(
  root: string,
  path: Components,
  size: number | null,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    using file = openBelow(root).open(path);
    const found = file.stats.size;
    return size === null || found === size ? await hashFile(file, found, signal) : 'other';
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
