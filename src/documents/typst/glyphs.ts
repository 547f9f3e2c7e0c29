/** What the exporter says of each text that no font can show, in a string that Rust has escaped, and escaped again. */
const report = /the text `\\"(.*?)\\"` could not be displayed/gs;

const mostMissing = 200;

/** The characters of which the exporter says that no font has them, each once. */
export function missingCharacters(message: string): string[] {
  const missing = new Set<string>();
  for (const [, text] of message.matchAll(report))
    for (const character of unescaped(text!)) {
      if (missing.size >= mostMissing) return [...missing];
      if (!/\s/.test(character)) missing.add(character);
    }
  return [...missing];
}

const unescaped = (text: string): string =>
  text
    .replaceAll(/\\+u\{([0-9a-f]{1,6})\}/gi, (_, digits: string) => characterOf(Number.parseInt(digits, 16)))
    .replaceAll(/\\+/g, '');

const characterOf = (code: number): string => (code <= 0x10_ff_ff ? String.fromCodePoint(code) : '');

/** The packages of fonts that are used where they are installed, and the scripts that each is for. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [/\p{Script=Hangul}/u, '@expo-google-fonts/noto-sans-kr'],
  [/[\p{Script=Hiragana}\p{Script=Katakana}]/u, '@expo-google-fonts/noto-sans-jp'],
  [/[\p{Script=Han}\p{Script=Bopomofo}\u3000-\u303f\uff00-\uffef]/u, '@expo-google-fonts/noto-sans-sc'],
];

const mostNamed = 20;

/** Tells which characters are boxes on the page, and what to do about it. */
export function missingGlyphsWarning(missing: readonly string[]): string {
  const named = missing.slice(0, mostNamed).map(visible).join(' ');
  const rest = missing.length > mostNamed ? ` and ${missing.length - mostNamed} more` : '';
  const what = missing.length === 1 ? '1 character has' : `${missing.length} characters have`;
  return `${what} no glyph in any font: ${named}${rest}. ${remedyFor(missing)}`;
}

/** Marks and the invisible by number. */
const visible = (character: string): string =>
  /^[\p{L}\p{N}\p{P}\p{S}]/u.test(character)
    ? character
    : `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;

function remedyFor(missing: readonly string[]): string {
  const wanted = remedies.filter(([script]) => missing.some((character) => script.test(character)));
  const folder = 'put a font that has them into a folder and name it by --document-fonts FOLDER';
  if (wanted.length === 0) return `To show them, ${folder}.`;
  return `To show them, run: npm install ${wanted.map(([, name]) => name).join(' ')} – or ${folder}.`;
}
