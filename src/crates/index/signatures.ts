/**
 * Bits that say which three and which five bytes in a row may stand in a block, so that most blocks need not be read.
 * Fives tell far more, since the threes of a language stand in nearly every block; threes are for what is shorter.
 */
export const signatureBytes = 2048;

const [short, long] = [3, 5];
const firstLong = (signatureBytes / 2) * 8;

const hashTrigram = (value: number): number => Math.imul(value, 0x9e37_79b1) >>> 19;

/** Calls for the bit of each run of three and five. */
function eachBit(
  text: string,
  start: number,
  end: number,
  call: (bit: number, length: number) => void,
): void {
  let [run, before] = [0, 0];
  for (let at = start; at < end; at++) {
    before = run;
    run = (run << 8) | text.charCodeAt(at);
    if (at - start >= short - 1) call(hashTrigram(run & 0xff_ffff), short);
    if (at - start >= long - 1)
      call(firstLong + hashTrigram(run ^ Math.imul(before >>> 24, 0x85eb_ca6b)), long);
  }
}

/** Notes part of a key. */
export function sign(signature: Uint8Array, text: string, start: number, end: number): void {
  eachBit(text, start, end, (bit) => {
    signature[bit >> 3]! |= 1 << (bit & 7);
  });
}

/** The bits that have to be set where `needle` stands. None where it is too short to tell. */
export function bitsOf(needle: string): number[] {
  const bits = new Set<number>();
  const wanted = needle.length >= long ? long : short;
  eachBit(needle, 0, needle.length, (bit, length) => length === wanted && bits.add(bit));
  return [...bits];
}

/** Whether a block may hold what has these bits. Signatures stand one after the other. */
export function mayHold(signatures: Uint8Array, number: number, bits: readonly number[]): boolean {
  const from = number * signatureBytes;
  for (const bit of bits) if ((signatures[from + (bit >> 3)]! & (1 << (bit & 7))) === 0) return false;
  return true;
}
