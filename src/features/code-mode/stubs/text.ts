/**
 * Text of others in generated files: as string literals and as comments, from which nothing can break out. It also
 * estimates what a text costs a model.
 */

/** What JSON leaves as it is, although it ends lines, has no place in a file, or shows the rest in another order. */
const unsafeCharacters = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** A string of JSON is a string of Python too, but for characters beyond 16 bits, which have an escape of their own. */
export const toPythonString = (text: string): string =>
  JSON.stringify(text.toWellFormed()).replaceAll(unsafeCharacters, (character) => {
    const code = character.codePointAt(0)!.toString(16);
    return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`;
  });

export const toNodeString = (text: string): string =>
  JSON.stringify(text.toWellFormed()).replaceAll(
    unsafeCharacters,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );

/** In one line, and without an end of its own. */
export const toDocComment = (text: string): string =>
  `/** ${text.toWellFormed().replaceAll(unsafeCharacters, ' ').replaceAll('*/', '* /').replaceAll('/*', '/ *')} */`;

/** The first sentences that fit, or the start of the first one. */
export function takeFirstSentences(text: string, most: number): string {
  const line = text
    .slice(0, 4 * most + 1000)
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim();
  if (most <= 0) return '';
  if (line.length <= most) return line;
  const end = line.slice(0, most + 1).search(/[.!?。](?= [^a-z])(?!.*[.!?。] [^a-z])/u);
  if (end >= most / 4) return line.slice(0, end + 1);
  const start = line.slice(0, most).replace(/\s+\S*$/u, '');
  return `${start.toWellFormed()}…`;
}

const tokenPieces =
  /[^\r\n\p{L}\p{N}]?\p{Lu}*\p{Ll}+|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+/gu;

const usualWordLength = 9;
const unusualPieceLength = 3;

/**
 * About how many tokens a text is, without a tokenizer: a short word is one, and so are three digits, or marks that
 * stand together. Rather too many than too few: `bench/stubs.ts` compares it with a real tokenizer.
 */
export function estimateTokens(text: string): number {
  let count = 0;
  for (const [piece] of text.matchAll(tokenPieces)) count += estimatePiece(piece);
  return count;
}

function estimatePiece(piece: string): number {
  const { length } = piece;
  const bytes = Buffer.byteLength(piece);
  if (bytes !== length) return bytes / 2;
  if (/[A-Za-z]/.test(piece))
    return length <= usualWordLength
      ? 1
      : 1 + Math.ceil((length - usualWordLength) / (2 * unusualPieceLength));
  return Math.ceil(length / unusualPieceLength);
}
