import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

/** How long a test waits for what is bound to come: only one that fails waits so long, however busy the machine is. */
export const patienceMs = 60_000;

/** Waits until something is so, and fails if it does not come about. */
export async function eventually(isSo: () => boolean | Promise<boolean>, everyMs = 20): Promise<void> {
  const end = performance.now() + patienceMs;
  while (!(await isSo())) {
    assert.ok(performance.now() < end, `it did not come about within ${patienceMs / 1000} s`);
    await pause(everyMs);
  }
}
