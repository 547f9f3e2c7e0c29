/** Where the next of some places is; asked with growing positions, so that all answers together take linear time. */
type Next = (from: number) => number;

/**
 * A paragraph with spaces in place of what is no markup: code, maths and escaped signs. Line breaks stay, so that lines
 * can be counted.
 */
export function spansOf(text: string): string {
  if (!/[`$\\]/.test(text)) return text;
  const ends = { ...codeEnds(text), ...mathEnds(text) };
  let [done, from] = ['', 0];
  for (let at = 0; at < text.length;) {
    const [end, width] = spanAt(text, at, ends);
    if (end > at + width || text[at] === '\\') {
      done += text.slice(from, at) + blank(text.slice(at, end));
      from = end;
    }
    at = end;
  }
  return done + text.slice(from);
}

interface Ends {
  readonly code: (length: number) => Next;
  readonly dollar: Next;
  readonly dollars: Next;
  readonly round: Next;
  readonly square: Next;
}

/** Where what begins here ends, and how long the sign is that it begins with. */
function spanAt(text: string, at: number, ends: Ends): [end: number, width: number] {
  const sign = text[at];
  if (sign === '`') {
    const length = runAt(text, at);
    return [ends.code(length)(at + length), length];
  }
  if (text.startsWith('$$', at)) return [ends.dollars(at + 2), 2];
  if (sign === '$') return [/\S/.test(text[at + 1] ?? ' ') ? ends.dollar(at + 1) : at + 1, 1];
  if (text.startsWith('\\(', at)) return [Math.max(ends.round(at + 2), at + 2), 2];
  if (text.startsWith('\\[', at)) return [Math.max(ends.square(at + 2), at + 2), 2];
  return sign === '\\' ? [Math.min(at + 2, text.length), 2] : [at + 1, 1];
}

function codeEnds(text: string): Pick<Ends, 'code'> {
  const places = new Map<number, number[]>();
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    const known = places.get(run.length) ?? [];
    known.push(index + run.length);
    places.set(run.length, known);
  }
  const nexts = new Map([...places].map(([length, ends]) => [length, nextOf(ends, length)]));
  return { code: (length) => nexts.get(length) ?? ((from) => from) };
}

function mathEnds(text: string): Omit<Ends, 'code'> {
  const after = (form: RegExp): number[] =>
    Array.from(text.matchAll(form), ({ 0: sign, index }) => index + sign.length);
  return {
    dollar: nextOf(after(/(?<=[^\s\\])\$(?!\d)/g), 1),
    dollars: nextOf(after(/(?<!\\)\$\$/g), 2),
    round: nextOf(after(/\\\)/g), 2),
    square: nextOf(after(/\\\]/g), 2),
  };
}

/** The end of the next sign that begins at `from` or later; `from` where there is none. */
function nextOf(ends: readonly number[], width: number): Next {
  let at = 0;
  return (from) => {
    while (at < ends.length && ends[at]! - width < from) at++;
    return ends[at] ?? from;
  };
}

function runAt(text: string, at: number): number {
  let end = at;
  while (text[end] === '`') end++;
  return end - at;
}

const blank = (text: string): string => text.replaceAll(/[^\n]/g, ' ');
