const looked = 4096;

/**
 * Whether bytes look like UTF-16 without a byte order mark, by where their NULs are: characters of most languages of
 * the West have one, all on the same side. `surely` asks for many, `perhaps` for one.
 */
export function looksLikeUtf16(bytes: Uint8Array, how: 'surely' | 'perhaps'): 'utf-16le' | 'utf-16be' | null {
  if (bytes.length === 0 || bytes.length % 2 !== 0) return null;
  const [even, odd] = countNuls(bytes.subarray(0, looked));
  const units = Math.min(bytes.length, looked) / 2;
  const enough = how === 'surely' ? Math.max(2, units / 4) : 1;
  if (odd >= enough && even === 0) return 'utf-16le';
  return even >= enough && odd === 0 ? 'utf-16be' : null;
}

function countNuls(bytes: Uint8Array): [even: number, odd: number] {
  const counts: [number, number] = [0, 0];
  for (let at = bytes.indexOf(0); at !== -1; at = bytes.indexOf(0, at + 1)) counts[at % 2 === 0 ? 0 : 1]++;
  return counts;
}
