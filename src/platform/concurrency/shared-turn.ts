/**
 * Work that many ask for at once and that must be as fresh as the asking: one is under way, and everybody who comes
 * meanwhile shares the next. So nobody gets what began before they asked, and however many ask, two are enough.
 */
export function shareNextTurn<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | null = null;
  return () =>
    (next ??= underWay.then(() => {
      next = null;
      const done = work();
      // Whoever asked hears of a failure; the next turn does not.
      underWay = done.catch(() => {});
      return done;
    }));
}
