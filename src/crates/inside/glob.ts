/**
 * Whether a path fits a pattern: `*` and `?` within one part, `**` for any number of parts. A pattern without `/` is
 * about the last part, wherever that stands. The time grows with path times pattern, whatever the two are.
 */
export function createGlob(pattern: string): (path: string) => boolean {
  const wanted = (pattern.includes('/') ? pattern : `**/${pattern}`).split('/').filter((part) => part !== '');
  return (path) => partsFit(path.split('/'), wanted);
}

/** For every start of the pattern, whether the parts so far fit it. */
function partsFit(parts: readonly string[], wanted: readonly string[]): boolean {
  let fits = [true, ...wanted.map((_, at) => wanted.slice(0, at + 1).every((part) => part === '**'))];
  for (const part of parts)
    fits = [
      false,
      ...wanted.map((want, at) => {
        if (want === '**') return fits[at]! || fits[at + 1]! || false;
        return fits[at]! && textFits(part, want);
      }),
    ].map((fit, at, all) => fit || (at > 0 && wanted[at - 1] === '**' && all[at - 1]!));
  return fits.at(-1)!;
}

/** The last `*` takes one more character whenever what follows it does not fit. */
function textFits(text: string, want: string): boolean {
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
