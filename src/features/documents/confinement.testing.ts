import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { answerCalls } from '../../platform/workers/inside.ts';

const attempt = (what: () => unknown): unknown => {
  try {
    return what();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
};

/** What a process sees from inside of its walls. */
const methods = {
  look: async (path: string) => ({
    passwd: attempt(() => readFileSync('/etc/passwd', 'utf8')),
    homes: attempt(() => [...readdirSync('/root'), ...readdirSync('/home')]),
    root: readdirSync('/'),
    own: attempt(() => readFileSync(path, 'utf8')),
    write: attempt(() => writeFileSync(path, 'changed')),
    interfaces: Object.keys(networkInterfaces()),
    processes: readdirSync('/proc').filter((name) => /^\d+$/.test(name)),
    // oxlint-disable-next-line node/no-process-env -- What is in it is the question.
    environment: Object.keys(process.env),
  }),
  spin: async (): Promise<void> => {
    while (true);
  },
};

export type LookingMethods = typeof methods;

answerCalls(methods);
