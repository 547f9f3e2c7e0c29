import type { Language } from '../sandbox.ts';
import type { RunGroup } from './groups.ts';
import type { Ends, Reading } from './pipes.ts';
import { notMade } from './remedies.ts';

/** What the init of a run says last, or null if it was killed. */
export type Outcome = {
  /** The exit code, or a signal as a negative number. */
  readonly code: number;
  /** Processes and threads that were left when it failed. */
  readonly crowd: number;
  /** Whether it was ended since it took memory of the kernel that no limit counts. */
  readonly kernelMemory: boolean;
} | null;

/** An interpreter that waits in namespaces of its own for the one run of its life. */
export interface Worker {
  readonly id: string;
  readonly language: Language;
  readonly group: RunGroup | null;
  readonly stdout: AsyncIterable<Uint8Array>;
  readonly stderr: AsyncIterable<Uint8Array>;
  /** Resolves when it waits; rejects where its namespaces could not be made. */
  readonly ready: Promise<void>;
  /** Resolves when every process of it is dead. */
  readonly outcome: Promise<Outcome>;
  begin(folder: string, code: string, stdin: string): void;
  /** Closes what the server holds of it, but for outputs that are being read. */
  release(): void;
  /** Closes those too. */
  abandon(): void;
  /** What has been written comes out, and then they end, though somebody else may have got hold of a pipe. */
  endOutputs(): void;
}

/** Says that the server has its ends of the pipes; with that, the other side goes on. */
export function plugIn(ends: Ends, id: string, language: Language, group: RunGroup | null): Worker {
  const { task, stdin, stdout, stderr, status } = ends;
  const { ready, outcome } = follow(status);
  ready.catch(() => {});
  task.write('!');
  const release = (): void => {
    status.close();
    for (const socket of [task, stdin]) socket.destroy();
  };
  return {
    id,
    language,
    group,
    stdout: stdout.chunks,
    stderr: stderr.chunks,
    ready,
    outcome,
    begin(folder, code, input) {
      task.end(`${folder}\0${code}`);
      stdin.end(input);
    },
    release,
    endOutputs() {
      for (const output of [stdout, stderr]) output.end();
    },
    abandon() {
      release();
      for (const output of [stdout, stderr]) output.close();
    },
  };
}

/** Lines that only the init of the run can write: it is not dumpable, so nobody inside gets at its descriptor. */
function follow(status: Reading) {
  const ready = Promise.withResolvers<void>();
  const outcome = Promise.withResolvers<Outcome>();
  const hear = (line: string): void => {
    const said = JSON.parse(line) as { ready: true } | { failed: string } | NonNullable<Outcome>;
    if ('ready' in said) ready.resolve();
    if ('code' in said) outcome.resolve(said);
    if ('failed' in said) ready.reject(notMade(said.failed));
  };
  const listen = async (): Promise<void> => {
    let rest = '';
    for await (const chunk of status.chunks) {
      const lines = (rest + Buffer.from(chunk).toString()).split('\n');
      rest = lines.pop()!;
      lines.forEach(hear);
    }
    ready.reject(notMade('it ended before it was ready'));
    outcome.resolve(null);
  };
  void listen();
  return { ready: ready.promise, outcome: outcome.promise };
}
