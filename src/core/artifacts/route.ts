/**
 * The HTTP routes `GET /{user_id}/artifacts` and what is below it. Bodies are streamed with backpressure and never
 * held whole. It does not authenticate: `surfaces/http/` does, and tells it who the caller is.
 */
import type { ServerResponse } from 'node:http';
import { Hono, type Context } from 'hono';
import type { NoteRequest } from '../audit/audit.ts';
import { asWorkcrateError, publicMessage, WorkcrateError } from '../../platform/errors.ts';
import { jsonResponse, getErrorStatus } from '../../platform/http/answer.ts';
import type { Caller } from '../identity.ts';
import type { Log } from '../../platform/observability/log.ts';
import { brokenEncodingError } from './artifact.ts';
import type { Artifact, ArtifactRequest, Artifacts, NamePage } from './artifacts.ts';

export interface ArtifactRoutesOptions {
  readonly artifacts: Artifacts;
  /** Who made a request, by what the framework knows of it; null where nobody has to sign in. */
  readonly signedIn: (env: unknown) => Caller | null;
  readonly noted: NoteRequest;
  readonly log: Log;
}

/** `/{user_id}/artifacts` and what is below it (A8). To be added last: other routes win over the names of users. */
export function createArtifactRoutes(options: ArtifactRoutesOptions): Hono {
  const { artifacts, signedIn, noted } = options;
  const routes = new Hono();
  routes.get('/:user_id/artifacts', ({ req, env }) =>
    answerErrors(async () => {
      const { pathname } = new URL(req.url);
      const { caller } = await parseArtifactPath(options, 'list_artifacts', pathname, signedIn(env));
      const asked = { operation: 'list_artifacts', user: caller.user, subject: null };
      const list = (after: string | null) => artifacts.list(caller, { after });
      return answerList(await noted(asked, () => list(null)), list, getOutgoing(env));
    }),
  );
  const give = ({ req, env }: Context, path: string): Promise<Response> =>
    answerErrors(async () => {
      const wanted = await parseArtifactPath(options, 'get_artifact', path, signedIn(env));
      const head = req.method === 'HEAD';
      const streaming = { artifacts: auditUse(options, head), ...wanted, connection: getOutgoing(env) };
      return head ? answerHead(streaming) : streamArtifact(streaming);
    });
  // With slashes too, so that a path is refused as one (A5).
  routes.get('/:user_id/artifacts/:artifact_id{[^]+}', (context) =>
    give(context, new URL(context.req.url).pathname),
  );
  // What is left of a path that ends with `.` or `..`, so that these are refused as names (A5).
  routes.on('GET', ['/:user_id/', '/:user_id/artifacts/'], (context, next) => {
    const path = readDotPath(context.env);
    return path === null ? next() : give(context, path);
  });
  return routes;
}

interface HonoEnvironment {
  readonly incoming?: { readonly url?: string };
  readonly outgoing?: ServerResponse;
}

const getOutgoing = (env: unknown): ServerResponse | null =>
  (env as HonoEnvironment | undefined)?.outgoing ?? null;

/** A path as it was sent, if its last segment is `.` or `..`, encoded or not: every parser of URLs takes those out. */
function readDotPath(env: unknown): string | null {
  const [path = ''] = (env as HonoEnvironment | undefined)?.incoming?.url?.split('?') ?? [];
  return /^\/[^/]+\/artifacts\/(?:\.|%2e){1,2}$/i.test(path) ? path : null;
}

/** What was given is known once it has been sent, which is long after the answer. */
function auditUse({ artifacts, noted }: ArtifactRoutesOptions, head: boolean): Pick<Artifacts, 'use'> {
  return {
    use: (caller, wanted, act) => {
      const { name: subject, signal } = wanted;
      return noted({ operation: 'get_artifact', user: caller.user, subject, signal }, (tell) =>
        artifacts.use(caller, wanted, (artifact) => {
          tell({ size: artifact.size, ...(head && { head }) });
          return act(artifact);
        }),
      );
    },
  };
}

async function answerErrors(act: () => Promise<Response>): Promise<Response> {
  try {
    return await act();
  } catch (cause) {
    const error = asWorkcrateError(cause);
    return jsonResponse({ error: publicMessage(error) }, getErrorStatus(error));
  }
}

/** From the path itself, since the framework leaves a broken encoding as it is. */
async function parseArtifactPath(
  { log, noted }: ArtifactRoutesOptions,
  operation: string,
  path: string,
  who: Caller | null,
): Promise<{ caller: Caller; name: string }> {
  const [, segment = '', , ...rest] = path.split('/');
  try {
    return { caller: readCallerSegment(segment, who), name: readNameSegment(rest.join('/')) };
  } catch (error) {
    const named = userSegmentForm.test(segment) ? segment : null;
    const user = who?.user ?? named;
    log.error('artifact.refused', { user, of: named, error });
    const subject = named === null ? null : [named, 'artifacts', ...rest].join('/');
    return noted({ operation, user, subject }, () => Promise.reject(error));
  }
}

const maxUserLength = 256;

/** What can be a name of a user (users/names.ts). A key, or a piece of one, that was pasted there is none. */
const userSegmentForm = /^(?!wck_)[a-z0-9][a-z0-9._@+-]{0,63}$/;
const holdsKey = /wck_[\w-]{43}/;

/**
 * On loopback without auth there is one trust domain, and the user is the one named in the path. Who has signed in
 * must be the one in the path; whether another user of that name exists is not revealed.
 */
function readCallerSegment(segment: string, who: Caller | null): Caller {
  const user = decodeSegment(segment);
  if (who !== null && user !== who.user)
    throw new WorkcrateError(
      'forbidden',
      'You can only fetch your own artifacts: the path must begin with your name.',
    );
  if (
    user === null ||
    user === '' ||
    user.length > maxUserLength ||
    user.includes('\0') ||
    holdsKey.test(user)
  )
    throw new WorkcrateError('invalid_input', 'Invalid user id');
  return { user };
}

function readNameSegment(segment: string): string {
  const name = decodeSegment(segment);
  if (name === null) throw brokenEncodingError(segment);
  return name;
}

function decodeSegment(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}

export interface ArtifactStreamOptions {
  readonly artifacts: Pick<Artifacts, 'use'>;
  readonly caller: Caller;
  readonly name: string;
  /** Where the answer goes, if that is a connection. */
  readonly connection: ServerResponse | null;
}

/**
 * The answer of A8, written while the artifact is read, so that its size costs no memory. What fails before
 * the first bytes are read is an error like any other; what fails later breaks the connection.
 */
const streamArtifact = (options: ArtifactStreamOptions): Promise<Response> =>
  streamWhileOpen(options, 'base64', readAnswerBody, toArtifactHeaders);

/** The bytes of an artifact as they are, with these headers, for the page of its owner. */
export const streamArtifactBytes = (
  options: ArtifactStreamOptions,
  toHeaders: (artifact: Artifact) => Headers | Record<string, string>,
): Promise<Response> => streamWhileOpen(options, 'resource', (artifact) => artifact.bytes(), toHeaders);

/** The artifact is open until all of it was sent. */
function streamWhileOpen(
  { artifacts, caller, name, connection }: ArtifactStreamOptions,
  delivery: ArtifactRequest['delivery'],
  read: (artifact: Artifact) => AsyncGenerator<Buffer, void>,
  toHeaders: (artifact: Artifact) => Headers | Record<string, string>,
): Promise<Response> {
  const answer = Promise.withResolvers<Response>();
  const gone = new AbortController();
  const giving = artifacts.use(caller, { name, delivery, signal: gone.signal }, async (artifact) => {
    const pieces = read(artifact);
    const first = await pieces.next();
    const { body, ended } = toResponseStream(first, pieces, connection, gone);
    answer.resolve(new Response(body, { headers: toHeaders(artifact) }));
    await ended;
  });
  giving.catch(answer.reject);
  return answer.promise;
}

/** The same without a body, for which nothing is read. */
async function answerHead({ artifacts, caller, name }: ArtifactStreamOptions): Promise<Response> {
  const wanted = { name, delivery: 'base64' } as const;
  const headers = await artifacts.use(caller, wanted, async (artifact) => toArtifactHeaders(artifact));
  return new Response(null, { headers });
}

const toAnswerStart = (name: string): string => `{"artifact_id":${JSON.stringify(name)},"data":"`;
const answerEnd = '","encoding":"base64"}\n';

function toArtifactHeaders({ name, size }: Artifact): Headers {
  const { headers } = jsonResponse(null);
  const length = Buffer.byteLength(toAnswerStart(name)) + Math.ceil(size / 3) * 4 + answerEnd.length;
  headers.set('Content-Length', String(length));
  return headers;
}

/** One piece behind, so that an artifact of one piece has been found unchanged before a byte is given. */
async function* readAnswerBody(artifact: Artifact): AsyncGenerator<Buffer, void> {
  let ready = toAnswerStart(artifact.name);
  let isFirst = true;
  for await (const piece of artifact.bytes()) {
    if (!isFirst) {
      yield Buffer.from(ready);
      ready = '';
    }
    isFirst = false;
    ready += piece.toString('base64');
  }
  yield Buffer.from(ready + answerEnd);
}

/** `ended` settles when the artifact is not needed any more, and rejects if that came too early. */
function toResponseStream(
  first: IteratorResult<Buffer, void>,
  pieces: AsyncGenerator<Buffer, void>,
  connection: ServerResponse | null,
  gone: AbortController,
): { body: ReadableStream<Buffer>; ended: Promise<void> } {
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  let next: Promise<IteratorResult<Buffer, void>> | null = Promise.resolve(first);

  async function pull(controller: ReadableStreamDefaultController<Buffer>): Promise<void> {
    try {
      const { done, value } = await (next ?? pieces.next());
      next = null;
      if (!done) return controller.enqueue(value);
      controller.close();
      resolve();
    } catch (error) {
      reject(error);
      // The framework would print an error of the stream, and might add its text to the body.
      if (connection === null) throw error;
      connection.destroy();
    }
  }

  /** Only when no read is under way: its descriptor is closed next. */
  async function cancel(): Promise<void> {
    await pieces.return();
    gone.abort();
    reject(gone.signal.reason);
  }

  // A connection that was gone before the answer never takes, and never cancels, the stream.
  if (connection?.closed) void cancel();
  else connection?.once('close', () => void cancel());
  return { body: new ReadableStream({ pull, cancel }, { highWaterMark: 0 }), ended };
}

/**
 * All names and their count (A8). More than a page of them are written as they are listed, so that their number costs
 * no memory; what fails on the way breaks the connection.
 */
async function answerList(
  first: NamePage,
  list: (after: string) => Promise<NamePage>,
  connection: ServerResponse | null,
): Promise<Response> {
  const { names, next } = first;
  if (next === null) return jsonResponse({ artifacts: names, count: names.length });
  const pieces = readListPieces(first, list);
  const { body, ended } = toResponseStream(await pieces.next(), pieces, connection, new AbortController());
  // The log has it: each page is listed, and fails, by itself.
  ended.catch(() => {});
  return new Response(body, { headers: jsonResponse(null).headers });
}

async function* readListPieces(
  first: NamePage,
  list: (after: string) => Promise<NamePage>,
): AsyncGenerator<Buffer, void> {
  let count = 0;
  for (let page = first; ; page = await list(page.next!)) {
    const start = count === 0 ? '{"artifacts":[' : page.names.length === 0 ? '' : ',';
    yield Buffer.from(start + JSON.stringify(page.names).slice(1, -1));
    count += page.names.length;
    if (page.next === null) break;
  }
  yield Buffer.from(`],"count":${count}}\n`);
}
