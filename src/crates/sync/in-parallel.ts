/**
 * Does work on what comes, at most `most` at a time, and gives the results as they are ready. Nothing more is taken
 * while results wait to be taken. The first failure ends it, after what is under way has ended; where nothing more comes
 * because of a failure, the results of what has come are given first.
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
    // A failure is heard of here at once, since it may be long before anybody asks for it.
    await Promise.allSettled([running]);
    underWay.delete(running);
    ended.push(running);
    wake();
  }

  async function next(): Promise<Out> {
    if (ended.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    return ended.shift()!;
  }

  /** What was taken before is worth doing all the same. */
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
