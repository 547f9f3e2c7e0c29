/**
 * Keeps the head and the tail of a text that comes in pieces, in bounded memory. It knows nothing of bytes or
 * encodings: `output.ts` decodes.
 */

/** How much of an output is shown: all of it up to `most` characters, else its start and its end. */
export interface OutputBounds {
  readonly most: number;
  readonly head: number;
  readonly tail: number;
}

/**
 * Takes text piece by piece and holds no more of it than will be shown. Lengths are UTF-16 units, as
 * everywhere in JavaScript, but no character is cut in two.
 */
export function createTruncation({ most, head, tail }: OutputBounds) {
  let total = 0;
  /** All of it at first; the head once there is too much. */
  let start = '';
  /** At least the tail once there is too much. */
  let end = '';

  function add(text: string): void {
    const before = total;
    total += text.length;
    if (total <= most) {
      start += text;
    } else if (before <= most) {
      const whole = start + text;
      start = keepStart(whole, head);
      end = keepEnd(whole.slice(start.length), tail);
    } else {
      end += text;
      // Not at every piece: a flood of small ones would copy the tail each time.
      if (end.length > 4 * tail) end = keepEnd(end, tail);
    }
  }

  return {
    add,
    /** Counts characters that come once there is too much, and before at least a whole tail of others. */
    pass(count: number): void {
      total += count;
      if (count > 0) end = '';
    },
    total: (): number => total,
    truncated: (): boolean => total > most,
    text(): string {
      if (total <= most) return start;
      const last = keepEnd(end, tail);
      return `${start}\n[... truncated ${total - start.length - last.length} chars ...]\n${last}`;
    },
  };
}

/** A text that is at hand as a whole, cut in the same way. */
export function truncateText(text: string, bounds: OutputBounds): string {
  const truncation = createTruncation(bounds);
  truncation.add(text);
  return truncation.text();
}

/** At most `length` units from the start; half a character is left out. */
export function keepStart(text: string, length: number): string {
  return text.slice(0, isSplit(text, length) ? length - 1 : length);
}

/** At most `length` units from the end; half a character is left out. */
export function keepEnd(text: string, length: number): string {
  const from = Math.max(0, text.length - length);
  return text.slice(isSplit(text, from) ? from + 1 : from);
}

/** Whether this index splits a surrogate pair. */
function isSplit(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return false;
  return (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(at) & 0xfc00) === 0xdc00;
}
