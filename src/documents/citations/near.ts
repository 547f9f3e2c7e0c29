import { editDistance } from '../../edit-distance.ts';

const mostSuggestions = 3;
const mostLength = 64;

/** Keys that look like one that is not there, the likest first. */
export function nearKeys(key: string, known: readonly string[]): string[] {
  const wanted = folded(key);
  if (wanted.length === 0 || wanted.length > mostLength) return [];
  const most = Math.min(3, Math.floor(wanted.length / 3));
  return known
    .flatMap((other) => {
      const distance = editDistance(wanted, folded(other), most);
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
