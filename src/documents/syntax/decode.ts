import { WorkcrateError } from '../../errors.ts';

const newline = 0x0a;

/** The text of bytes that have to be UTF-8, without its byte order mark. `what` is whose bytes they are. */
export function decodeText(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    const { offset, line } = firstWrong(bytes);
    throw new WorkcrateError(
      'document_invalid',
      `${what} is not UTF-8: byte ${offset}, in line ${line}, belongs to no character. Save it as UTF-8.`,
      { cause, details: { offset, line } },
    );
  }
}

/** Replaced bytes are longer or shorter than what they were, so the place is found by halving. */
function firstWrong(bytes: Uint8Array): { offset: number; line: number } {
  const isFine = (end: number): boolean => {
    try {
      // A character that is cut off at the end is no error in a stream.
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, end), { stream: true });
      return true;
    } catch {
      return false;
    }
  };
  let [fine, wrong] = [0, bytes.byteLength + 1];
  while (wrong - fine > 1) {
    const middle = (fine + wrong) >> 1;
    if (isFine(middle)) fine = middle;
    else wrong = middle;
  }
  // Cut off at the very end, it is no error before the stream ends.
  const offset = Math.min(wrong, bytes.byteLength) - 1;
  let line = 1;
  for (let at = 0; at < offset; at++) if (bytes[at] === newline) line++;
  return { offset, line };
}
