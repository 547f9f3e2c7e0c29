/** Bytes from `start` to before `end`. */
export interface Stretch {
  readonly start: number;
  readonly end: number;
}

/** All of them in order, those that touch or overlap as one. */
export function joined(stretches: readonly Stretch[]): Stretch[] {
  const all: { start: number; end: number }[] = [];
  for (const { start, end } of stretches.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else if (start < end) all.push({ start, end });
  }
  return all;
}

/** Whether they are all of something of that size. */
export function isWhole(stretches: readonly Stretch[], size: number): boolean {
  const [first, ...more] = joined(stretches);
  return size === 0 || (more.length === 0 && first?.start === 0 && first.end === size);
}
