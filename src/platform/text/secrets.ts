/**
 * Removes API keys, tokens and links with tokens from texts that go to logs. It works on plain texts, and does not know
 * which keys exist.
 */
import { hash } from 'node:crypto';

/** Nothing that is shorter opens anything: a token is 32 random bytes in base64url. */
const minSecretLength = 43;
/** No line has room for more. What follows is not looked at, so it is not shown either. */
const maxSearchedLength = 65_536;
/** As long as a token can be that was encoded three times: the last one may be cut. */
const encodedLength = 512;
const maxSecretDecodings = 3;

/**
 * The same text, without keys, tokens and links that somebody has put where they do not belong, in whatever percent
 * encoding. All that is not one stays as it was, unless it is far too long for a line.
 */
export function withoutSecrets(text: string): string {
  if (text.length < minSecretLength) return text;
  if (text.length > maxSearchedLength)
    return withoutSecrets(text.slice(0, maxSearchedLength)).slice(0, -encodedLength);
  let shown = hideSecretValues(text);
  let decoded = shown;
  for (let times = 0; times < maxSecretDecodings && decoded.includes('%'); times++) {
    decoded = decodePercentAscii(decoded);
    const plain = hideSecretValues(decoded);
    // What is hidden in a text can be shown only as it was decoded.
    if (plain !== decoded) shown = decoded = plain;
  }
  return shown;
}

/** Percent-encoded ASCII alone, so that nothing is too broken for it. */
export function decodePercentAscii(text: string): string {
  return text.replaceAll(/%([0-7][0-9a-f])/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/** No word ends like that. */
const apiKeyPattern = /wck_[\w-]{43,}/gi;
/** The first letter may be spelled in other ways; `truck_` is none of them. */
const restOfKey = /(ck_)([\w-]{43,})/gi;
const tokenInUrl = /((?:^|\/)(?:files|uploads|ask)\/)([\w-]{43,})/g;
const jwt = /(?<![\w-])eyJ[\w-]{8,}(?:\.[\w-]*){2,}/g;
const longRun = /(?<![\w-])[\w-]{43,}/g;

const hideSecretValues = (text: string): string =>
  text
    .replaceAll(apiKeyPattern, 'wck_…')
    .replaceAll(restOfKey, hideUnlessName)
    .replaceAll(tokenInUrl, hideUnlessName)
    .replaceAll(jwt, 'eyJ…')
    .replaceAll(longRun, (run) => (isReadableName(run) ? run : nameToken(run)));

const hideUnlessName = (whole: string, before: string, run: string): string =>
  isReadableName(run) ? whole : `${before}…`;

/** Of a token the end is the name by which the log knows its link; a name that was taken for one can be told apart. */
const nameToken = (run: string): string => `${run.slice(0, 8)}…${hash('sha256', run, 'hex').slice(0, 16)}`;

const wordPattern = /\d{8}T\d{6}Z?|\d+|[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g;
const hexadecimal = /^(?:[0-9a-f]+|[0-9A-F]+)$/;

/**
 * Whether a long run of letters, digits and dashes is made of words, numbers and hashes, as names of files and ids are.
 * A token changes between capitals, small letters and digits about every second character: of two million none passed.
 */
function isReadableName(run: string): boolean {
  const odd = run.split(/[-_]+/).reduce((sum, part) => sum + countOddWords(part), 0);
  return odd <= Math.min(2, Math.floor(run.length / 40));
}

function countOddWords(part: string): number {
  if (part.length < 4 || hexadecimal.test(part)) return 0;
  const found = part.match(wordPattern) ?? [];
  return found.length === 1 ? 0 : found.filter(({ length }) => length < 3).length;
}
