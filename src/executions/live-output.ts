/**
 * What a run has printed so far, in bounded memory, with an offset for every character: whoever has read to one can go
 * on from there. The record of a run is made elsewhere (`output.ts`).
 */
import { keepEnd, keepStart } from './truncation.ts';

/** A part of what a run printed. */
export interface OutputPart {
  readonly text: string;
  /** The offset of its first character, which is higher than what was asked for where that is not kept any more. */
  readonly from: number;
  /** The offset to go on from. */
  readonly next: number;
  /** How many characters there are by now. */
  readonly end: number;
}

export type LiveOutput = ReturnType<typeof createLiveOutput>;

/** The last characters that are kept of each run. */
const mostKept = 64 * 1024;

/** Takes text as it comes, and keeps the last of it. Offsets count UTF-16 units, and no character is cut in two. */
export function createLiveOutput(most = mostKept) {
  let from = 0;
  let kept = '';

  return {
    /** `passed` characters came before this text that nobody looked at. */
    add(text: string, passed = 0): void {
      if (passed > 0) {
        from += kept.length + passed;
        kept = '';
      }
      kept += text;
      // Not at every piece: small ones would copy all of it each time.
      if (kept.length <= 2 * most) return;
      const last = keepEnd(kept, most);
      from += kept.length - last.length;
      kept = last;
    },

    /** At most `length` characters from an offset on. */
    read(offset: number, length: number): OutputPart {
      const end = from + kept.length;
      const start = Math.min(Math.max(offset, from), end);
      const text = keepStart(kept.slice(start - from), length);
      return { text, from: start, next: start + text.length, end };
    },
  };
}
