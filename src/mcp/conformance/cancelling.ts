import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { defineTool, type Tool } from '../tool.ts';

/** The calls that were cancelled. Held by the module, since a server of 2026-07-28 lives for one request. */
const cancelled = new Set<string>();

/** Tools of our own, to prove in each lane that progress comes out of a handler and cancellation gets in. */
export function addCancelling(addTool: (tool: Tool) => void): void {
  addTool(slow);
  addTool(wasCancelled);
}

const named = z.strictObject({ call: z.string() });

const slow = defineTool({
  name: 'test_cancellable',
  group: 'code',
  title: 'Work slowly',
  description: 'Reports progress every 20 ms, for 10 s or until it is cancelled',
  input: named,
  output: z.object({ finished: z.boolean() }),
  annotations: { readOnlyHint: true },
  auditFields: { subject: [] },
  async handle({ call }, { signal, progress }) {
    signal.addEventListener('abort', () => cancelled.add(call), { once: true });
    for (let step = 1; step <= 500; step++) {
      progress(step, 500, `step ${step}`);
      await delay(20, undefined, { signal });
    }
    return { text: 'Finished.', structured: { finished: true } };
  },
});

const wasCancelled = defineTool({
  name: 'test_was_cancelled',
  group: 'code',
  title: 'Ask whether a call was cancelled',
  description: 'Tells whether cancellation reached a call of test_cancellable',
  input: named,
  output: z.object({ cancelled: z.boolean() }),
  annotations: { readOnlyHint: true },
  auditFields: { subject: [] },
  async handle({ call }) {
    return { text: String(cancelled.has(call)), structured: { cancelled: cancelled.has(call) } };
  },
});
