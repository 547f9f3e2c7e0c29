import type { RefusalKind } from './faults.ts';

const mostDecodings = 8;

/** Characters that pass for ASCII ones which steer a path, where NFKC alone does not say so. */
const lookAlikes: Readonly<Record<string, string>> = {
  '/': '\u2041\u2044\u2215\u2571\u27cb\u29f8\u31d3',
  '\\': '\u2216\u27cd\u29f5\u29f9\u31d4',
  '.': '\u0701\u0702\u3002\ua4f8\ua60e',
  ':': '\u02d0\u2236\ua789',
};
const plainOf = new Map(
  Object.entries(lookAlikes).flatMap(([plain, alike]) =>
    alike.split('').map((mark) => [mark, plain] as const),
  ),
);
const anyLookAlike = new RegExp(`[${[...plainOf.keys()].join('')}]`, 'g');

/** What makes a path lead elsewhere when it is taken literally, here or on Windows. */
export function meaningOf(path: string): RefusalKind | null {
  if (path.includes('\0')) return 'nul';
  if (/^[/\\]{2}/.test(path)) return 'unc';
  if (path.startsWith('/')) return 'absolute';
  if (/(?:^|[/\\])[a-z]:/i.test(path)) return 'drive';
  if (path.includes('\\')) return 'backslash';
  // Windows drops spaces around a name, so they do not make `.. ` another one.
  return path.split('/').some((name) => name.trim() === '..') ? 'traversal' : null;
}

/** Whether a path that is harmless as it stands would lead elsewhere once decoded or normalised. */
export function hiddenMeaning(path: string): 'encoded' | 'look_alike' | null {
  let form = path;
  for (let decodings = 0; decodings <= mostDecodings; decodings++) {
    const plain = inPlainCharacters(form);
    if (leadsElsewhere(plain, path)) return decodings === 0 ? 'look_alike' : 'encoded';
    form = percentDecoded(plain);
    if (form === plain) return null;
  }
  return 'encoded';
}

function leadsElsewhere(form: string, literal: string): boolean {
  return meaningOf(form) !== null || form.split('/').length !== literal.split('/').length;
}

function inPlainCharacters(text: string): string {
  return (
    text
      .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
      // NFKC writes ½ with a fraction slash, but nothing opens `½ cup` as `1/2 cup`.
      .replace(/[\u00bc-\u00be\u2150-\u215f\u2189]/g, '#')
      .normalize('NFKC')
      .replace(anyLookAlike, (mark) => plainOf.get(mark) ?? mark)
  );
}

function percentDecoded(text: string): string {
  return text
    .replace(/%u([0-9a-f]{4})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .replace(/(?:%[0-9a-f]{2})+/gi, (run) => leniently(Buffer.from(run.replaceAll('%', ''), 'hex')));
}

/** UTF-8 as careless decoders read it: `C0 AF` is an overlong `/`. */
function leniently(bytes: Buffer): string {
  const shortened = bytes
    .toString('latin1')
    .replace(/(?:\xc0|\xe0\x80|\xf0\x80\x80)([\x80-\xbf])/g, (_, last: string) => ascii(last, 0))
    .replace(/(?:\xc1|\xe0\x81|\xf0\x80\x81)([\x80-\xbf])/g, (_, last: string) => ascii(last, 0x40));
  return Buffer.from(shortened, 'latin1').toString('utf8');
}

function ascii(continuation: string, high: number): string {
  return String.fromCharCode(high | (continuation.charCodeAt(0) & 0x3f));
}
