const mostSuggestions = 3;
const mostLength = 64;

/** Keys that look like one that is not there, the likest first. */
export function nearKeys(key: string, known: readonly string[]): string[] {
  const wanted = folded(key);
  if (wanted.length === 0 || wanted.length > mostLength) return [];
  const most = Math.min(3, Math.floor(wanted.length / 3));
  return known
    .flatMap((other) => {
      const distance = distanceOf(wanted, folded(other), most);
      return distance === null ? [] : [{ other, distance }];
    })
    .sort((a, b) => a.distance - b.distance)
    .slice(0, mostSuggestions)
    .map(({ other }) => other);
}

/** Case, accents and punctuation are what is got wrong most often. */
const folded = (key: string): string =>
  key
    .slice(0, 4 * mostLength)
    .normalize('NFKD')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase();

/** How many characters have to be changed, added or left out; null where more than `most`. */
function distanceOf(a: string, b: string, most: number): number | null {
  if (a === b) return 0;
  if (Math.abs(a.length - b.length) > most) return null;
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    if (Math.min(...next) > most) return null;
    row = next;
  }
  return row[b.length]! <= most ? row[b.length]! : null;
}
