import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';

/** As in fail-nth-call.c. */
const kinds = { write: 1, fsync: 2, rename: 3, link: 4, 'sync of the log': 5, 'sync that drops the log': 6 };

export type FaultKind = keyof typeof kinds;
export type FaultError = 'ENOSPC' | 'EIO';

/** A library that lets chosen file calls of a program fail. */
export interface FaultLibrary extends Disposable {
  /** What the program has to be started with. */
  readonly env: Record<string, string>;
  /** From now on, the n-th call of this kind fails, once. A sync that drops the log leaves it as it was last synced. */
  arm(kind: FaultKind, n: number, error: FaultError): void;
  /** From now on, every call of this kind fails. */
  armAll(kind: FaultKind, error: FaultError): void;
  /** Nothing fails any more. Tells whether something did. */
  disarm(): boolean;
}

/** Builds it in a scratch folder. Gives the reason where that cannot be done here. */
export function buildFaultLibrary(scratch: string, below: string): FaultLibrary | string {
  const library = join(scratch, 'fail-nth-call.so');
  const source = join(import.meta.dirname, 'fail-nth-call.c');
  const built = spawnSync('cc', ['-O1', '-shared', '-fPIC', '-o', library, source, '-ldl'], {
    encoding: 'utf8',
  });
  if (built.status !== 0) return (built.error?.message ?? built.stderr).trim();
  const path = join(scratch, 'control');
  const control = openSync(path, 'w+', 0o666);
  const set = (...fields: [kind: number, callsLeft: number, error: number, hits: number]): void =>
    void writeSync(control, Buffer.from(Int32Array.from(fields).buffer), 0, 16, 0);
  set(0, 0, 0, 0);
  return {
    env: {
      LD_PRELOAD: library,
      WORKCRATE_TEST_FAULT_CONTROL: path,
      WORKCRATE_TEST_FAULT_FOLDER: below,
    },
    arm: (kind, n, error) => set(kinds[kind], n, constants.errno[error], 0),
    armAll: (kind, error) => set(kinds[kind], -(2 ** 31), constants.errno[error], 0),
    disarm() {
      const fields = new Int32Array(4);
      readSync(control, fields, 0, 16, 0);
      set(0, 0, 0, 0);
      return fields[3]! > 0;
    },
    [Symbol.dispose]: () => closeSync(control),
  };
}
