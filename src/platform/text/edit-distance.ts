/**
 * Finds the known word that was probably meant, for "did you mean". It writes no message.
 */

/** The known name that was probably meant; null where none is close. */
export function findNearest(wrong: string, known: Iterable<string>): string | null {
  let nearest: string | null = null;
  let least = Infinity;
  for (const name of known) {
    const distance = editDistance(wrong, name, Math.min(getMostEdits(name), least - 1));
    if (distance !== null) [nearest, least] = [name, distance];
  }
  return nearest;
}

/** With a third of the letters wrong it is another word, and so it is when nothing of it is left. */
const getMostEdits = (name: string): number =>
  Math.min(Math.max(2, Math.floor(name.length / 3)), name.length - 1);

/**
 * How many characters must be inserted, deleted, changed or swapped with their neighbour to get from one text to the
 * other (optimal string alignment); null where more than `most`, and then it stops early.
 */
export function editDistance(from: string, to: string, most: number): number | null {
  if (Math.abs(from.length - to.length) > most) return null;
  let [beforeLast, last] = [[] as number[], Array.from({ length: to.length + 1 }, (_, at) => at)];
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let at = 1; at <= to.length; at++) {
      const changed = from[row - 1] === to[at - 1] ? 0 : 1;
      const isSwap = row > 1 && at > 1 && from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1];
      const edits = Math.min(last[at]! + 1, current[at - 1]! + 1, last[at - 1]! + changed);
      current.push(isSwap ? Math.min(edits, beforeLast[at - 2]! + 1) : edits);
    }
    // A swap reaches back two rows, so both have to be over.
    if (Math.min(...last) > most && Math.min(...current) > most) return null;
    [beforeLast, last] = [last, current];
  }
  return last[to.length]! <= most ? last[to.length]! : null;
}
