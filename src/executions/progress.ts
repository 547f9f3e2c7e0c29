import { endOf } from './truncation.ts';

const intervalMs = 250;
/** A run that is over by then tells everything in its result. */
const firstMs = 100;
const mostCharacters = 2000;

export type Report = (done: number, total: number | null, message?: string) => void;

/** Passes output on while it comes: a few messages a second, each with the newest of it. */
export function createOutputProgress(report: Report) {
  let total = 0;
  let pending = '';
  let last = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | null = null;

  function send(): void {
    timer = null;
    last = performance.now();
    const message = pending.length > mostCharacters ? `…${endOf(pending, mostCharacters - 1)}` : pending;
    pending = '';
    report(total, null, message);
  }

  return {
    heard(text: string, passed = 0): void {
      total += passed + text.length;
      pending = passed > 0 ? text : pending + text;
      if (pending.length > 4 * mostCharacters) pending = endOf(pending, mostCharacters + 1);
      const waited = performance.now() - last;
      timer ??= setTimeout(send, Math.max(firstMs, intervalMs - waited)).unref();
    },
    [Symbol.dispose](): void {
      if (timer !== null) clearTimeout(timer);
    },
  };
}
