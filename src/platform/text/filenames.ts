/**
 * Sanitizes names of files that strangers gave, so that they are safe as one component of a path. It does not look at
 * the disk: paths within folders are `platform/paths/`.
 */

/** What ext4, APFS and NTFS allow at least, the strictest of them counting bytes. */
export const maxFileNameBytes = 255;
const maxExtensionBytes = 20;
const nameless = 'file';

/**
 * Characters that are not seen but change what is: control characters, direction marks, separators of lines,
 * tags. The joiners U+200C and U+200D stay, since emoji and Indic and Persian words are spelt with them.
 */
const invisibleCharacters =
  /[\p{Cc}\p{Noncharacter_Code_Point}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const forbiddenOnWindows = /[<>:"|?*]/g;
/** Windows opens a device for these, whatever the extension. */
const windowsDeviceName = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\.|$)/i;

const leadingBlanks = /^[\s\u200c\u200d]+/;
const trailingBlanks = /[\s.\u200c\u200d]/;

/**
 * A stranger's name as a plain file name: one component, nothing unseen, at most 255 bytes. Otherwise it
 * stays as it was given, so that a file comes back under its own name.
 */
export function cleanFilename(name: string): string {
  return (
    fitFilename(getLastComponent(name).toWellFormed().replace(invisibleCharacters, '').normalize('NFC')) ||
    nameless
  );
}

/** A name that can be unpacked on any system, Windows included: for entries of an archive. */
export function portableFilename(name: string): string {
  const fitted = fitFilename(cleanFilename(name).replace(forbiddenOnWindows, '_'));
  // The prefix may push a name over the limit, and fitting may lay a device's name bare.
  return fitFilename(fitted.replace(windowsDeviceName, '_$&')) || nameless;
}

/** What programs look for in a folder and run without being told: Python, pytest, Windows. */
const runsByItself = /^(?:(?:(?:site|user)customize|conftest)\..*py[a-z]?|autorun\.inf|desktop\.ini)$/i;

/**
 * The name under which a file that came by a link is saved. A link must not be able to place a `.bashrc` or `.envrc` that
 * runs at the next shell, a name that reads as an option, or one that a program runs by itself.
 */
export const toSavedName = (filename: string): string =>
  /^[.-]/.test(filename) || runsByItself.test(filename) ? fitFilename(`_${filename}`) : filename;

function getLastComponent(path: string): string {
  return path.split(/[/\\]/).findLast((part) => part !== '') ?? '';
}

/** At most 255 bytes, the extension kept, without the ends that Windows drops. */
function fitFilename(name: string): string {
  const [stem, extension] = splitExtension(trimFilename(name));
  return trimFilename(cutToBytes(stem, maxFileNameBytes - Buffer.byteLength(extension)) + extension);
}

/** Trims the end by hand: `[\s.]+$` takes quadratic time on a long run of spaces within the name. */
function trimFilename(name: string): string {
  let end = name.length;
  while (end > 0 && trailingBlanks.test(name.charAt(end - 1))) end--;
  return name.slice(0, end).replace(leadingBlanks, '');
}

/** The stem and the extension with its dot, which is empty for `.gitignore` and for what is too long for one. */
export function splitExtension(name: string): [stem: string, extension: string] {
  const dot = name.lastIndexOf('.');
  const extension = name.slice(dot);
  if (dot <= 0 || Buffer.byteLength(extension) > maxExtensionBytes) return [name, ''];
  return [name.slice(0, dot), extension];
}

/** The longest start of a text that has at most this many bytes in UTF-8 and splits no code point. */
export function cutToBytes(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}
