/**
 * Matches paths against patterns with `*`, `?` and `**`, in time that hostile patterns cannot blow up. It reads no
 * folder, and knows no brackets or braces.
 */
import { WorkcrateError } from '../errors.ts';

const maxPatternParts = 32;

/**
 * Whether a path fits a pattern: `*` and `?` within one part, `**` for any number of parts. A pattern without `/` is
 * about the last part of a path. The time grows with path times pattern, whatever the two are.
 */
export function createGlob(pattern: string): (path: string) => boolean {
  const wanted = splitPattern(pattern);
  // Of no parts at all: what a leading `**` takes.
  const first = [true, ...wanted.map((want, at) => at === 0 && want === '**')];
  return (path) => {
    let fits = first;
    for (const part of path.split('/')) fits = matchNextPart(fits, part, wanted);
    return fits.at(-1)!;
  };
}

/** Of several `**` in a row one says the same. */
function splitPattern(pattern: string): string[] {
  const parts = (pattern.includes('/') ? pattern : `**/${pattern}`).split('/').filter((part) => part !== '');
  const wanted = parts.filter((part, at) => part !== '**' || parts[at - 1] !== '**');
  if (wanted.length <= maxPatternParts) return wanted;
  throw new WorkcrateError(
    'invalid_input',
    `The pattern has ${wanted.length} parts between slashes, and may have ${maxPatternParts}. Leave the first of them out, with **/ in their place.`,
  );
}

/** For every start of the pattern, whether the parts up to this one fit it. */
function matchNextPart(fits: readonly boolean[], part: string, wanted: readonly string[]): boolean[] {
  const next = [false];
  for (const [at, want] of wanted.entries())
    next.push(
      want === '**' ? fits[at]! || fits[at + 1]! || next[at]! : fits[at]! && matchesWildcard(part, want),
    );
  return next;
}

/** The last `*` takes one more character whenever what follows it does not fit. */
function matchesWildcard(text: string, want: string): boolean {
  let [at, wantAt, star, starAt] = [0, 0, -1, 0];
  while (at < text.length) {
    if (want[wantAt] === '*') [star, starAt, wantAt] = [wantAt, at, wantAt + 1];
    else if (wantAt < want.length && (want[wantAt] === '?' || want[wantAt] === text[at])) {
      at++;
      wantAt++;
    } else if (star >= 0) [at, wantAt, starAt] = [starAt + 1, star + 1, starAt + 1];
    else return false;
  }
  while (want[wantAt] === '*') wantAt++;
  return wantAt === want.length;
}
