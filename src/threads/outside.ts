import { parentPort, Worker, workerData } from 'node:worker_threads';
import { failureOf, mostMemory, tooMuchMemory, type FromThread, type ToThread } from './messages.ts';

/** Whoever started this thread or process. */
export interface Outside {
  /** What it gave along. */
  readonly data: Promise<unknown>;
  post(message: FromThread): void;
  listen(hear: (message: ToThread) => void): void;
}

function outsideOfThread(port: NonNullable<typeof parentPort>): Outside {
  return {
    data: Promise.resolve(workerData),
    post: (message) => port.postMessage(message),
    listen: (hear) => void port.on('message', hear),
  };
}

function outsideOfProcess(): Outside {
  const data = Promise.withResolvers<unknown>();
  // Calls come right behind the data, before anybody listens.
  const early: ToThread[] = [];
  let hear = (message: ToThread): void => void early.push(message);
  process.on('message', (message: ToThread | { readonly data: unknown }) =>
    'data' in message ? data.resolve(message.data) : hear(message),
  );
  const post = (message: FromThread): void => {
    if (process.connected) process.send!(message, undefined, undefined, () => {});
  };
  endWithParent();
  tellOfDeath(post);
  return {
    data: data.promise,
    post,
    listen(listener) {
      hear = listener;
      for (const message of early.splice(0)) hear(message);
    },
  };
}

/** The signals that a terminal or a service manager sends to all alike are for the server, which ends this one. */
const notForUs = ['SIGINT', 'SIGTERM', 'SIGHUP'];

const parentLookMs = 100;

function endWithParent(): void {
  for (const signal of notForUs) process.on(signal, () => {});
  process.on('disconnect', () => process.exit());
  // What keeps this thread busy for ever also keeps it from hearing that the server is gone. Another thread sees it.
  const watch = `setInterval(() => {
    if (process.ppid !== ${process.ppid}) process.kill(process.pid, 'SIGKILL');
  }, ${parentLookMs});`;
  new Worker(watch + watchMemory(), { eval: true }).unref();
}

const memoryLookMs = 50;

/** The same thread sees what native code takes. */
function watchMemory(): string {
  const word = process.argv.find((word) => word.startsWith(mostMemory));
  if (word === undefined) return '';
  const bytes = Number(word.slice(mostMemory.length));
  return `setInterval(() => {
    if (process.memoryUsage.rss() > ${bytes}) process.kill(process.pid, '${tooMuchMemory}');
  }, ${memoryLookMs});`;
}

const mostDyingMs = 1000;

/** So that the log of the server says why. It ends this process then. */
function tellOfDeath(post: (message: FromThread) => void): void {
  process.on('uncaughtException', (error) => {
    post({ died: failureOf(error) });
    setTimeout(() => process.exit(1), mostDyingMs);
  });
}

// Last, since it needs all of the above.
export const outside: Outside = parentPort === null ? outsideOfProcess() : outsideOfThread(parentPort);
