import { WorkcrateError } from '../../errors.ts';

const start = /^---\s*$/;
const end = /^(?:---|\.\.\.)\s*$/;
const mark = /(?:^|[\s[{,])([&*])([^\s,[\]{}]+)/g;

/** Front matter in which names stand for what was written before: a few of them can grow without bound. */
export function demandNoAliases(lines: readonly string[]): void {
  let at = 0;
  while ((at = next(lines, start, at)) >= 0) {
    const to = isBlank(lines[at + 1]) ? at : next(lines, end, at + 1);
    if (to < 0) return;
    const name = to > at ? aliasIn(lines.slice(at + 1, to)) : null;
    if (name !== null)
      throw new WorkcrateError(
        'document_invalid',
        `The front matter in line ${at + 1} uses an alias (*${name}), which is not taken: write out what it stands for.`,
        { details: { line: at + 1 } },
      );
    at = to + 1;
  }
}

function next(lines: readonly string[], form: RegExp, from: number): number {
  for (let at = from; at < lines.length; at++) if (form.test(lines[at]!)) return at;
  return -1;
}

const isBlank = (line: string | undefined): boolean => line === undefined || line.trim() === '';

/** A name that is both given (`&name`) and used (`*name`): `*emphasis*` and `R &D` are neither. */
function aliasIn(lines: readonly string[]): string | null {
  const [given, used] = [new Set<string>(), new Set<string>()];
  for (const line of lines)
    for (const [, sign, name] of line.matchAll(mark)) (sign === '&' ? given : used).add(name!);
  for (const name of used) if (given.has(name)) return name.slice(0, 40);
  return null;
}
