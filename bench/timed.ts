/** How many milliseconds each call took, one after the other. */
export async function timed(call: () => Promise<void>, count: number): Promise<number[]> {
  const taken: number[] = [];
  for (let at = 0; at < count; at++) {
    const started = performance.now();
    await call();
    taken.push(performance.now() - started);
  }
  return taken;
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
