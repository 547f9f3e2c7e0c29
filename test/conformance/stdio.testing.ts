import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { patienceMs } from '../../src/platform/eventually.testing.ts';
import { startCli, startCliWithFixtures, stop, temporaryFolder } from './cli.testing.ts';
import type { Message } from './messages.testing.ts';

/** `workcrate stdio` with its lines in hand. A line that is not JSON fails the test that waits. */
export const startStdio = (...flags: string[]) => startWith(startCli, flags);
export const startStdioWithFixtures = () => startWith(startCliWithFixtures, []);

async function startWith(startProgram: typeof startCli, flags: readonly string[]) {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await temporaryFolder());
  const data = join(folder.path, 'data');
  const usual = [
    'stdio',
    '--port',
    '0',
    '--structured',
    ...(flags.includes('--data') ? [] : ['--data', data]),
  ];
  const child = startProgram([...usual, ...flags], folder.path);
  started.defer(() => stop(child));
  let logged = '';
  child.stderr.on('data', (chunk) => (logged += chunk));
  const read = readMessages(child);
  const running = started.move();
  return {
    child,
    data,
    ...read,
    logged: () => logged,
    /** Where its links are, once it has logged that. */
    async linksAt(): Promise<string> {
      const signal = AbortSignal.timeout(patienceMs);
      const pattern = /"stdio\.links_at".*"url":"([^"]+)"/;
      while (!pattern.test(logged)) await once(child.stderr, 'data', { signal });
      return pattern.exec(logged)![1]!;
    },
    write: (...messages: Message[]) =>
      void child.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join('')),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function readMessages(child: ChildProcessWithoutNullStreams) {
  const messages: Message[] = [];
  const lines = createInterface(child.stdout);
  lines.on('line', (line) => messages.push(JSON.parse(line) as Message));
  return {
    messages,
    async until(isIt: (message: Message) => boolean): Promise<void> {
      const signal = AbortSignal.timeout(patienceMs);
      while (!messages.some(isIt)) await once(lines, 'line', { signal });
    },
  };
}
