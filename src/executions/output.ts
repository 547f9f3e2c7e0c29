import { isAscii } from 'node:buffer';
import { createTruncation, type Bounds } from './truncation.ts';
import type { Spool, Spooled } from './spool.ts';

/** One output of a run, as it is shown and recorded. */
export interface Output {
  readonly text: string;
  readonly bytes: number;
  readonly truncated: boolean;
  /** Null where all of it is shown. */
  readonly spooled: Spooled | null;
}

export interface OutputOptions {
  /** How much is shown. */
  readonly bounds: Bounds;
  /** Called once, when there is more than can be shown. */
  readonly spool: () => Spool;
  /** Told of text as it comes, and of how many characters were passed over before it. */
  readonly heard: (text: string, passed: number) => void;
}

/**
 * Reads one output to its end and keeps it bounded while it does. Bytes that are not UTF-8 become U+FFFD
 * in the text; the spool gets all bytes as they came. No chunk is held on to once the next is asked for.
 */
export async function takeOutput(
  chunks: AsyncIterable<Uint8Array>,
  { bounds, spool: openSpool, heard }: OutputOptions,
): Promise<Output> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const shown = createTruncation(bounds);
  let bytes = 0;
  let early: Uint8Array[] = [];
  let spool: Spool | null = null;

  function read(text: string, passed = 0): void {
    if (text === '') return;
    shown.pass(passed);
    shown.add(text);
    heard(text, passed);
  }

  let unfinished = false;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    const passed = shown.truncated() && !unfinished ? passable(chunk, bounds.tail) : 0;
    let before = passed;
    for (const piece of inPieces(chunk.subarray(passed))) {
      read(decoder.decode(piece, { stream: true }), before);
      before = 0;
    }
    unfinished = chunk.length > 0 && chunk.at(-1)! >= 0x80;
    if (spool === null && shown.truncated()) {
      spool = openSpool();
      for (const held of early) await spool.write(held);
      early = [];
    }
    // Copied, since its memory may be used again, or be a view of a large buffer and keep all of that.
    if (spool === null) early.push(new Uint8Array(chunk));
    else await spool.write(chunk);
  }
  read(decoder.decode());
  return {
    text: shown.text(),
    bytes,
    truncated: shown.truncated(),
    spooled: await endOfSpool(spool, shown.truncated(), openSpool, early),
  };
}

/**
 * How many bytes at the start of a chunk are characters that nobody is going to see. Only counting them keeps
 * a flood from leaving a gigabyte of strings behind.
 */
function passable(chunk: Uint8Array, tail: number): number {
  const most = chunk.length - tail;
  return most > 0 && isAscii(chunk) ? most : 0;
}

/** Short strings are gone with the next small collection; those of whole chunks would pile up in a flood. */
const pieceBytes = 16 * 1024;

function* inPieces(chunk: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < chunk.length; at += pieceBytes) yield chunk.subarray(at, at + pieceBytes);
}

/** The replacement for a character that was never finished may be the one that is too many. */
async function endOfSpool(
  spool: Spool | null,
  truncated: boolean,
  openSpool: () => Spool,
  early: readonly Uint8Array[],
): Promise<Spooled | null> {
  if (!truncated) return null;
  const last = spool ?? openSpool();
  if (spool === null) for (const held of early) await last.write(held);
  return last.end();
}
