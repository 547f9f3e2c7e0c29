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

export type OutputStream = 'stdout' | 'stderr';

/** Text of one stream, as it came among that of the other. */
export interface OutputPiece {
  readonly stream: OutputStream;
  readonly text: string;
}

/** A part of what a run printed, told apart by streams. */
export interface OutputPieces extends Omit<OutputPart, 'text'> {
  readonly pieces: readonly OutputPiece[];
}

export type LiveOutput = ReturnType<typeof createLiveOutput>;

/** The last characters that are kept of each run. */
const mostKept = 64 * 1024;
/** Changes between the streams that are remembered; what is older counts as stdout. */
const mostChanges = 4096;

/** Takes text as it comes, and keeps the last of it. Offsets count UTF-16 units, and no character is cut in two. */
export function createLiveOutput(most = mostKept) {
  let from = 0;
  let kept = '';
  /** From which offset on the text is of another stream than before. */
  let changes: { readonly at: number; readonly stream: OutputStream }[] = [];
  let isOver = false;
  const watchers = new Set<() => void>();

  function noteStream(stream: OutputStream): void {
    if ((changes.at(-1)?.stream ?? 'stdout') === stream) return;
    changes.push({ at: from + kept.length, stream });
    if (changes.length > mostChanges) changes = changes.slice(-mostChanges / 2);
  }

  function cutToMost(): void {
    // Not at every piece: small ones would copy all of it each time.
    if (kept.length <= 2 * most) return;
    const last = keepEnd(kept, most);
    from += kept.length - last.length;
    kept = last;
    const current = changes.findLastIndex(({ at }) => at <= from);
    if (current > 0) changes = changes.slice(current);
  }

  function read(offset: number, length: number): OutputPart {
    const end = from + kept.length;
    const start = Math.min(Math.max(offset, from), end);
    const text = keepStart(kept.slice(start - from), length);
    return { text, from: start, next: start + text.length, end };
  }

  const tellWatchers = (): void => watchers.forEach((tell) => tell());

  return {
    /** `passed` characters came before this text that nobody looked at. */
    add(text: string, passed = 0, stream: OutputStream = 'stdout'): void {
      if (passed > 0) {
        from += kept.length + passed;
        kept = '';
      }
      noteStream(stream);
      kept += text;
      cutToMost();
      tellWatchers();
    },

    /** At most `length` characters from an offset on. */
    read,

    /** The same, told apart by streams. */
    readPieces(offset: number, length: number): OutputPieces {
      const { text, ...part } = read(offset, length);
      return { ...part, pieces: splitByStreams(text, part.from, changes) };
    },

    /** Nothing more comes. */
    finish(): void {
      isOver = true;
      tellWatchers();
    },

    isOver: (): boolean => isOver,

    /** Calls when there is more, or it is over. */
    watch(tell: () => void): Disposable {
      watchers.add(tell);
      return { [Symbol.dispose]: () => void watchers.delete(tell) };
    },
  };
}

function splitByStreams(
  text: string,
  from: number,
  changes: readonly { readonly at: number; readonly stream: OutputStream }[],
): OutputPiece[] {
  const pieces: OutputPiece[] = [];
  let stream: OutputStream = 'stdout';
  let start = 0;
  for (const change of [...changes, { at: from + text.length, stream: 'stdout' as const }]) {
    const end = Math.min(Math.max(change.at - from, 0), text.length);
    if (end > start) pieces.push({ stream, text: text.slice(start, end) });
    [start, stream] = [Math.max(start, end), change.stream];
  }
  return pieces;
}
