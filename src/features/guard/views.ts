/**
 * Other forms of code and output in which a pattern may be found that the text as written hides: invisible characters
 * and look-alikes removed, pieces of a text joined, base64 and hex decoded once. And the paths and hosts that a text
 * names. All of it takes time in proportion to the text. It executes nothing, so what code computes is not seen.
 */
import { posix } from 'node:path';

/** Characters that are not seen: format characters, variation selectors, soft hyphens. */
const invisible = /[\p{Cf}\u{fe00}-\u{fe0f}\u{e0100}-\u{e01ef}\u{34f}\u{115f}\u{1160}\u{3164}]/gu;

/** The same text with look-alike forms in their plain form, and without what cannot be seen. */
export const toPlainText = (text: string): string =>
  isAsciiText(text) ? text : text.normalize('NFKC').replaceAll(invisible, '');

// oxlint-disable-next-line no-control-regex -- All of ASCII is meant.
const isAsciiText = (text: string): boolean => /^[\u0000-\u007f]*$/.test(text);

/** The forms of code that are looked at, the text as it is first. */
export function toCodeViews(code: string, language: string | null): string[] {
  const plain = toPlainText(code);
  const views = [code, plain, joinPieces(plain, language), decodeTexts(plain)];
  return views.filter((view, at) => view !== '' && views.indexOf(view) === at);
}

/** `'a' + 'b'`, `"a" "b"`: the end of a text and the start of the next in the same quotes. */
const betweenPieces = /(["'`])\s{0,20}\+?\s{0,20}[bfru]{0,2}\1/g;

function joinPieces(code: string, language: string | null): string {
  const joined = code.replaceAll(betweenPieces, '');
  if (language !== null && language !== 'bash') return joined;
  return joined
    .replaceAll(/\\\n/g, '')
    .replaceAll(/\$\{?IFS\}?/g, ' ')
    .replaceAll(/\\(?=[a-z])/g, '')
    .replaceAll(/(?<=[\w/.-])(?:''|"")(?=[\w/.-])/g, '');
}

const base64Text = /[A-Za-z0-9+/_-]{16,}={0,2}/g;
const hexText = /(?:[0-9a-fA-F]{2}){8,}/g;
const escapedCharacter = /\\x([0-9a-fA-F]{2})|\\u\{?([0-9a-fA-F]{4,6})\}?/g;

const maxDecodedTexts = 500;
const maxDecodedLength = 1024 ** 2;

/** What long runs of base64 and hex, and escaped ASCII, stand for. Decoded once, and not what that holds again. */
function decodeTexts(code: string): string {
  const found: string[] = [];
  let length = 0;
  const add = (text: string | null): void => {
    if (text === null || found.length >= maxDecodedTexts || length + text.length > maxDecodedLength) return;
    found.push(text);
    length += text.length;
  };
  for (const [run] of code.matchAll(base64Text)) add(readText(Buffer.from(run, 'base64')));
  for (const [run] of code.matchAll(hexText)) add(readText(Buffer.from(run, 'hex')));
  if (code.includes('\\x') || code.includes('\\u'))
    add(
      code.replaceAll(escapedCharacter, (whole, short: string | undefined, long: string | undefined) => {
        const point = Number.parseInt(short ?? long!, 16);
        return point < 0x80 ? String.fromCodePoint(point) : whole;
      }),
    );
  return found.join('\n');
}

const decoder = new TextDecoder('utf-8', { fatal: true });
// oxlint-disable-next-line no-control-regex -- Control characters are what tells bytes from text.
const unreadable = /[\u0000-\u0008\u000e-\u001f\u007f]/;

/** Bytes as text; null where they are none. */
function readText(bytes: Buffer): string | null {
  try {
    const text = decoder.decode(bytes);
    return unreadable.test(text) ? null : text;
  } catch {
    return null;
  }
}

const homeNames = /\$\{?HOME\}?(?=\/)|\/root(?=\/)|\/home\/[\w.-]{1,64}(?=\/)/g;
const pathInText = /(?:~|\.{1,2})?(?:\/[\w.@%+=,~*?-]{1,255}){1,64}/g;
const maxNamed = 10_000;

/** Paths that a text names, each as it is and from the home folder where it is below one. */
export function findPaths(text: string): string[] {
  const found = new Set<string>();
  for (const source of new Set([text, text.replaceAll(homeNames, '~')]))
    for (const [path] of source.matchAll(pathInText)) {
      if (found.size >= maxNamed) return [...found];
      found.add(posix.normalize(path));
    }
  return [...found];
}

const hostInUrl =
  /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}:\/\/(?:[^\s/@"'`<>]{1,200}@)?(\[[0-9a-f:.]{2,45}\]|[\p{L}\p{N}._-]+)/giu;
const hostOfUser = /(?<![\w.-])[\w.-]{1,64}@([a-z0-9][a-z0-9.-]{0,253}):/gi;

/** Hosts that a text names in URLs, and as `user@host:` as scp takes them. */
export function findHosts(text: string): string[] {
  const found = new Set<string>();
  for (const form of [hostInUrl, hostOfUser])
    for (const [, host] of text.matchAll(form)) {
      if (found.size >= maxNamed) return [...found];
      found.add(host!.toLowerCase().replace(/\.$/, ''));
    }
  return [...found];
}
