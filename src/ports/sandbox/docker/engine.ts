import { request, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { json } from 'node:stream/consumers';
import { getErrno, WorkcrateError } from '../../../platform/errors.ts';

// outbound: the Docker engine is at a unix socket, and runs take over its connections

/** No request to the engine takes longer on a healthy machine. */
const usualWaitMs = 60_000;
/** Runs have connections of their own to the engine, so they do not wait for each other. */
const unpooled = false;

/** The HTTP interface of a Docker engine, at its unix socket. Paths have no version: every engine knows its own. */
export interface Engine {
  /** Rejects with EngineError where the engine answers with an error. */
  call<T = unknown>(method: string, path: string, body?: object): Promise<T>;
  /** A connection to the outputs and the input of a container, which need not run yet. */
  attach(container: string): Promise<Socket>;
}

/** The engine's own complaint. */
export class EngineError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'EngineError';
    this.status = status;
  }
}

export function openDockerEngine(socketPath: string, maxWaitMs = usualWaitMs): Engine {
  const at = { socketPath, maxWaitMs };
  return {
    async call<T>(method: string, path: string, body?: object): Promise<T> {
      const { response } = await sendToEngine(at, method, path, body);
      const isJson = response.headers['content-type']?.startsWith('application/json') === true;
      const answer: unknown = isJson ? await json(response) : void response.resume();
      if (response.statusCode! < 400) return answer as T;
      throw new EngineError(response.statusCode!, getEngineMessage(answer));
    },
    async attach(container) {
      const path = `/containers/${container}/attach?stream=1&stdin=1&stdout=1&stderr=1`;
      const { response, socket } = await sendToEngine(at, 'POST', path, undefined, true);
      if (socket !== null) return socket;
      throw new EngineError(response.statusCode!, getEngineMessage(await json(response)));
    },
  };
}

interface EngineAnswer {
  readonly response: IncomingMessage;
  /** The connection, after an upgrade. */
  readonly socket: Socket | null;
}

async function sendToEngine(
  { socketPath, maxWaitMs }: { readonly socketPath: string; readonly maxWaitMs: number },
  method: string,
  path: string,
  body?: object,
  upgrade = false,
): Promise<EngineAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<EngineAnswer>();
  const headers = {
    host: 'docker',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(upgrade ? { connection: 'Upgrade', upgrade: 'tcp' } : {}),
  };
  const outgoing = request({ socketPath, method, path, headers, agent: unpooled });
  outgoing.setTimeout(maxWaitMs, () => outgoing.destroy(new Error('The engine does not answer.')));
  outgoing.once('response', (response) => resolve({ response, socket: null }));
  outgoing.once('upgrade', (response, socket, head) => {
    // From here on nothing has to come by it for as long as the container lives.
    socket.setTimeout(0);
    if (head.length > 0) socket.unshift(head);
    resolve({ response, socket: socket as Socket });
  });
  outgoing.once('error', (error) => reject(engineUnreachableError(socketPath, error)));
  outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  return promise;
}

function getEngineMessage(answer: unknown): string {
  const message = (answer as { message?: unknown } | undefined)?.message;
  return typeof message === 'string' ? message : 'The engine gave no reason.';
}

function engineUnreachableError(socketPath: string, cause: Error): WorkcrateError {
  const why: Record<string, string> = {
    ENOENT: 'Nothing is there: is Docker installed and running?',
    ECONNREFUSED: 'Nothing listens there: start Docker.',
    EACCES: 'This user has no permission: add it to the group "docker".',
  };
  return new WorkcrateError(
    'sandbox_unavailable',
    `The Docker engine cannot be reached at ${socketPath}. ${why[getErrno(cause) ?? ''] ?? cause.message} Another socket can be named with --docker-socket.`,
    { cause },
  );
}
