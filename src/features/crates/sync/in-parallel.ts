/**
 * Maps items with bounded concurrency: at most `most` at a time, results in the order in which they are ready. It has
 * backpressure: no more items are taken while results are waiting. The first failure of `work` ends it, once running work
 * has ended. If `items` fails, the results of the items before are given first.
 */
export async function* mapConcurrently<In, Out>(
  items: AsyncIterable<In>,
  most: number,
  work: (item: In) => Promise<Out>,
): AsyncGenerator<Out> {
  const underWay = new Set<Promise<Out>>();
  const ended: Promise<Out>[] = [];
  let wake = (): void => {};

  async function begin(item: In): Promise<void> {
    const running = work(item);
    underWay.add(running);
    // Handles a rejection at once, since it may take long until the result is consumed.
    await Promise.allSettled([running]);
    underWay.delete(running);
    ended.push(running);
    wake();
  }

  async function next(): Promise<Out> {
    if (ended.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    return ended.shift()!;
  }

  /** Items before a failure are still worth processing. */
  const failures: unknown[] = [];
  async function* untilItFails(): AsyncGenerator<In> {
    try {
      yield* items;
    } catch (error) {
      failures.push(error);
    }
  }

  try {
    for await (const item of untilItFails()) {
      void begin(item);
      while (ended.length > 0 || underWay.size >= most) yield await next();
    }
    while (ended.length > 0 || underWay.size > 0) yield await next();
    if (failures.length > 0) throw failures[0];
  } finally {
    await Promise.allSettled(underWay);
  }
}
