import { setImmediate as othersFirst } from 'node:timers/promises';

const turnMs = 5;
/** Asking for the time costs as much as a short step. */
const stepsBetweenLooks = 32;

/** Takes every step of a long piece of work, and lets others have their turn every few milliseconds. */
export async function inTurns<Step, End>(
  work: Generator<Step, End>,
  take: (step: Step) => void,
): Promise<End> {
  let until = performance.now() + turnMs;
  let steps = 0;
  try {
    for (let next = work.next(); ; next = work.next()) {
      if (next.done) return next.value;
      take(next.value);
      if (++steps % stepsBetweenLooks !== 0 || performance.now() < until) continue;
      await othersFirst();
      until = performance.now() + turnMs;
    }
  } finally {
    // Lets go of the folders that it holds, where `take` failed.
    work.return(undefined as End);
  }
}
