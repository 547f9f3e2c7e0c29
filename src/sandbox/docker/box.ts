import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { WorkcrateError } from '../../errors.ts';
import type { Place, RunRequest } from '../sandbox.ts';
import { containerOf, type DockerOptions } from './container.ts';
import { EngineError, type Engine } from './engine.ts';
import { outputsOf, type Outputs } from './outputs.ts';
import type { Task } from './supervisor.ts';

/** A container that waits for its only run. */
export interface Box {
  readonly id: string;
  /** Whether it still waits, as far as is known. */
  readonly alive: boolean;
  begin(task: BoxTask): Outputs;
  term(): Promise<void>;
  /** Resolves once none of its processes runs. */
  kill(): Promise<void>;
  /** Whatever state it is in. */
  remove(): Promise<void>;
}

export type BoxTask = Pick<RunRequest, 'language' | 'code' | 'workingDir' | 'stdin'> & {
  /** When it gives up by itself. */
  readonly mostMs: number;
};

/** Starts a container for a user, or for nobody, which has no folders in it. */
export async function startBox(engine: Engine, options: DockerOptions, place: Place | null): Promise<Box> {
  const { Id } = await asOurs(
    options,
    engine.call<{ Id: string }>('POST', '/containers/create', containerOf(options, place)),
  );
  const remove = () => forgiving(engine.call('DELETE', `/containers/${Id}?force=1&v=1`));
  try {
    const socket = await asOurs(options, engine.attach(Id));
    await asOurs(options, engine.call('POST', `/containers/${Id}/start`));
    return boxAround(engine, Id, socket, remove);
  } catch (error) {
    await remove();
    throw error;
  }
}

function boxAround(engine: Engine, id: string, socket: Socket, remove: () => Promise<void>): Box {
  let alive = true;
  const signal = (name: string) => forgiving(engine.call('POST', `/containers/${id}/kill?signal=${name}`));
  // The engine closes it when the container ends, which may be in the middle of our input.
  socket.on('error', () => {});
  socket.once('close', () => void (alive = false));
  return {
    id,
    get alive() {
      return alive;
    },
    begin: (task) => begin(socket, task),
    term: () => signal('SIGTERM'),
    kill: () => signal('SIGKILL'),
    async remove() {
      alive = false;
      await remove();
    },
  };
}

function begin(socket: Socket, { language, workingDir, code, stdin, mostMs }: BoxTask): Outputs {
  const mark = randomBytes(24);
  const task: Task = {
    language,
    workingDir,
    codeLength: Buffer.byteLength(code),
    mark: mark.toString('hex'),
    mostSeconds: Math.ceil(mostMs / 1000),
  };
  const outputs = outputsOf(socket, mark);
  socket.write(`${JSON.stringify(task)}\n${code}`);
  socket.end(stdin);
  return outputs;
}

/** The engine has no such container any more, or is just about to have none. */
async function forgiving(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof EngineError) || ![404, 409].includes(error.status)) throw error;
  }
}

async function asOurs<T>({ image, runtime }: DockerOptions, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    if (error.status === 404 && /no such image/i.test(error.message)) throw imageMissing(image, error);
    const hint = runtime === null ? '' : ` The runtime is ${runtime}.`;
    throw new WorkcrateError(
      'sandbox_failed',
      `Docker could not start a container: ${error.message}.${hint}`,
      {
        cause: error,
      },
    );
  }
}

function imageMissing(image: string, cause: Error): WorkcrateError {
  return new WorkcrateError(
    'sandbox_unavailable',
    `Docker has no image ${image}. Build one with python3 and bash in it (docker build -t ${image} .), fetch one (docker pull), or make one from a folder with a root file system: tar -C FOLDER -c . | docker import - ${image}. Another image can be named with --executor-image.`,
    { cause },
  );
}
