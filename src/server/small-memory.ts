/**
 * Keeps the memory of a server small once it is open (decisions 012 and 071): V8 collects old objects sooner, and what
 * only the start needed is freed. What is set before the start is in `bin/`.
 */
import { flushCompileCache } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { CallControl } from './call-control.ts';

/** By then the client has its first answers. */
const pauseMs = 1000;

export async function keepMemorySmall({ underWay, stopping }: CallControl): Promise<void> {
  const rest = (): Promise<void> => pause(pauseMs, undefined, { ref: false });
  await rest();
  collectSooner();
  // Collecting takes a tenth of a second, in which no call is answered.
  while (underWay.calls > 0) await rest();
  if (!stopping.aborted) collectGarbage();
}

/**
 * Old objects are collected when they have tripled: later costs memory, and sooner a pause in every hundredth run. Set
 * before the start, it made Node compile its own modules anew, since what it has compiled holds for the default flags.
 */
function collectSooner(): void {
  // What is compiled under other flags is of no use to the next start.
  flushCompileCache();
  setFlagsFromString('--heap-growing-percent=200');
}

/** A start leaves 20 MB of sources and compiled code behind, in pages that V8 would keep for as long as it runs. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: object) => void;
  setFlagsFromString('--no-expose-gc');
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
