import { WorkcrateError } from '../../errors.ts';

/** Names that programs use and the Encoding standard does not know, or takes for windows-1252. */
const ownNames: Readonly<Record<string, string>> = {
  'utf-8-sig': 'utf-8',
  utf16: 'utf-16',
  'utf-16': 'utf-16',
  'ucs-2': 'utf-16',
  unicode: 'utf-16',
  utf16le: 'utf-16le',
  'utf-16-le': 'utf-16le',
  utf16be: 'utf-16be',
  'utf-16-be': 'utf-16be',
  l1: 'iso-8859-1',
  latin1: 'iso-8859-1',
  'latin-1': 'iso-8859-1',
  'iso8859-1': 'iso-8859-1',
  'iso-8859-1': 'iso-8859-1',
  ascii: 'us-ascii',
  'us-ascii': 'us-ascii',
};

/** Those that are asked for most; a TextDecoder knows some thirty more. */
const known =
  'utf-8, utf-16, utf-16le, utf-16be, iso-8859-1 (latin-1), windows-1252, us-ascii, iso-8859-2 to -16, windows-1250 to -1258, koi8-r, macintosh, shift_jis, euc-jp, iso-2022-jp, gbk, gb18030, big5, euc-kr';

/** The one name of an encoding that goes by many, such as `UTF_8` and `latin1`. */
export function encodingNamed(name: string): string {
  const plain = name.trim().toLowerCase().replaceAll('_', '-').replaceAll(' ', '-');
  const found = Object.hasOwn(ownNames, plain)
    ? ownNames[plain]!
    : (standardName(plain) ?? standardName(name));
  if (found !== null) return found;
  throw new WorkcrateError(
    'invalid_input',
    `No encoding is called ${JSON.stringify(name.slice(0, 40))}. There are: ${known}. For the exact bytes set binary.`,
  );
}

function standardName(label: string): string | null {
  try {
    return new TextDecoder(label).encoding;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
