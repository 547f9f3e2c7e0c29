/** The first thing found that leads back to itself, by way of others or at once; null where nothing does. */
export function loopIn(all: Iterable<string>, next: (one: string) => readonly string[]): string | null {
  const settled = new Set<string>();
  for (const first of all) {
    const trail = new Set<string>();
    const ahead = [{ one: first, leaving: false }];
    for (let step = ahead.pop(); step !== undefined; step = ahead.pop()) {
      const { one, leaving } = step;
      if (leaving) {
        trail.delete(one);
        settled.add(one);
      } else if (trail.has(one)) return one;
      else if (!settled.has(one)) {
        trail.add(one);
        ahead.push({ one, leaving: true });
        for (const other of next(one)) ahead.push({ one: other, leaving: false });
      }
    }
  }
  return null;
}
