import { randomBytes } from 'node:crypto';
import type { Log } from '../../observability/log.ts';
import { languages, sandboxClosedError, type Language, type Workspace } from '../sandbox.ts';
import { startUserSandbox, type UserSandbox, type UserSandboxOptions } from './user-sandbox.ts';
import type { Worker } from './worker.ts';

export interface InterpreterPoolOptions extends UserSandboxOptions {
  readonly warm: Readonly<Record<Language, number>>;
  readonly log: Log;
}

/** A worker together with the user's sandbox that can stop it. */
export interface TakenWorker {
  readonly worker: Worker;
  readonly userSandbox: UserSandbox;
}

/** The interpreters of one user: some wait, each for one run; a run that finds none waits until one is forked. */
export interface InterpreterPool {
  readonly place: Workspace;
  readonly warm: number;
  /** Runs that have not ended. */
  readonly running: number;
  lastUsed: number;
  /** Resolves when runs can start; rejects if they cannot. */
  ready(): Promise<void>;
  fill(): Promise<void>;
  take(language: Language): Promise<TakenWorker>;
  close(): Promise<void>;
}

export function createInterpreterPool(place: Workspace, options: InterpreterPoolOptions): InterpreterPool {
  let starting: Promise<UserSandbox> | null = null;
  const waiting: Record<Language, TakenWorker[]> = { python: [], node: [], bash: [] };
  const making: Record<Language, number> = { python: 0, node: 0, bash: 0 };
  /** Runs that found none, and take the next interpreter. */
  const impatient: Record<Language, PromiseWithResolvers<TakenWorker>[]> = { python: [], node: [], bash: [] };
  let running = 0;
  let closed = false;

  /** The user's sandbox, or a new one if the last has died. */
  const getUserSandbox = (): Promise<UserSandbox> => {
    starting ??= start();
    return starting;
  };

  const start = async (): Promise<UserSandbox> => {
    try {
      const userSandbox = await startUserSandbox(place, options);
      void userSandbox.ended.then(() => forget(userSandbox));
      return userSandbox;
    } catch (error) {
      starting = null;
      throw error;
    }
  };

  const forget = (userSandbox: UserSandbox): void => {
    starting = null;
    for (const language of languages)
      waiting[language] = waiting[language].filter((taken) => taken.userSandbox !== userSandbox);
  };

  const make = async (language: Language): Promise<TakenWorker> => {
    // Not in a closed pool: nobody would end what is started there.
    if (closed) throw sandboxClosedError();
    const userSandbox = await getUserSandbox();
    return { userSandbox, worker: await userSandbox.make(randomBytes(8).toString('hex'), language) };
  };

  const fillOne = async (language: Language): Promise<void> => {
    making[language]++;
    try {
      const taken = await make(language);
      if (closed) return taken.userSandbox.kill(taken.worker.id);
      const first = impatient[language].shift();
      if (first !== undefined) return first.resolve(taken);
      waiting[language].push(taken);
      void taken.worker.outcome.then(() => removeItem(waiting[language], taken));
    } catch (error) {
      // The run that waited for it starts another one.
      const first = impatient[language].shift();
      if (first !== undefined) make(language).then(first.resolve, first.reject);
      throw error;
    } finally {
      making[language]--;
    }
  };

  /** An interpreter that is being started for the pool is ready sooner than a new one. */
  const next = (language: Language): Promise<TakenWorker> => {
    if (making[language] <= impatient[language].length) return make(language);
    const wanted = Promise.withResolvers<TakenWorker>();
    impatient[language].push(wanted);
    return wanted.promise;
  };

  const missing = (language: Language): number =>
    closed ? 0 : options.warm[language] - waiting[language].length - making[language];

  const startable = (language: Language): number =>
    language === 'node' ? Math.min(missing('node'), 1 - making.node) : missing(language);

  /**
   * Starts all that are missing at once: most of the time goes to the kernel, which moves each into its cgroup. Node takes
   * processor time to start, so there is one at a time.
   */
  const fill = async (): Promise<void> => {
    const started: Promise<void>[] = [];
    for (const language of languages)
      for (let count = startable(language); count > 0; count--) started.push(fillOne(language));
    await Promise.all(started);
    if (missing('node') > 0 && making.node === 0) await fill();
  };

  return {
    place,
    get warm() {
      return languages.reduce((sum, language) => sum + waiting[language].length, 0);
    },
    get running() {
      return running;
    },
    lastUsed: Date.now(),
    async ready() {
      await getUserSandbox();
    },
    fill,
    async take(language) {
      this.lastUsed = Date.now();
      running++;
      try {
        const taken = waiting[language].shift() ?? (await next(language));
        void taken.worker.outcome.then(() => running--);
        return taken;
      } catch (error) {
        running--;
        throw error;
      }
    },
    async close() {
      closed = true;
      for (const wanted of languages.flatMap((language) => impatient[language].splice(0)))
        wanted.reject(sandboxClosedError());
      const userSandbox = await starting?.catch(() => null);
      await userSandbox?.close();
    },
  };
}

function removeItem<T>(list: T[], item: T): void {
  const at = list.indexOf(item);
  if (at >= 0) list.splice(at, 1);
}
