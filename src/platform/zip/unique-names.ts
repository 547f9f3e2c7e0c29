import { cutToBytes, maxFileNameBytes, splitExtension } from '../text/filenames.ts';

/** Leaves space for ` (1000000)`, so that a numbered name still fits on a disk. */
const numberBytes = 10;

/**
 * Numbers the second and later use of a name: `a.txt`, `a (2).txt`. Names that only Windows or macOS take to
 * be the same count as the same. The first use keeps its name, whatever the others are numbered as.
 */
export function numberEqualNames(names: readonly string[]): string[] {
  const comparableNames = names.map(toComparableName);
  const taken = new Set(comparableNames);
  const numbers = new Map<string, number>();
  const seen = new Set<string>();
  return names.map((name, index) => {
    const key = comparableNames[index] as string;
    if (seen.has(key)) return findFreeName(name, taken, numbers);
    seen.add(key);
    return name;
  });
}

/** Goes on from the number last tried, as starting over takes quadratic time for many equal names. */
function findFreeName(name: string, taken: Set<string>, numbers: Map<string, number>): string {
  const [stem, extension] = splitForShortening(name);
  const key = toComparableName(`${stem}\0${extension}`);
  for (let number = (numbers.get(key) ?? 1) + 1; ; number++) {
    const candidate = `${stem} (${number})${extension}`;
    if (taken.has(toComparableName(candidate))) continue;
    taken.add(toComparableName(candidate));
    numbers.set(key, number);
    return candidate;
  }
}

/** Everything before the extension, folders included, and the extension. */
function splitForShortening(path: string): [string, string] {
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const [stem, extension] = splitExtension(path.slice(folder.length));
  const room = maxFileNameBytes - numberBytes - Buffer.byteLength(extension);
  return [folder + cutToBytes(stem, room), extension];
}

/** Both cases in turn, as ẞ meets ss only by way of ß; then composed again, as case mapping may decompose. */
function toComparableName(name: string): string {
  return name.normalize('NFC').toLowerCase().toUpperCase().normalize('NFC');
}
