import { WorkcrateError } from '../../errors.ts';

/** Where a picture is to be had. */
export type PictureTarget = { readonly name: string } | { readonly bytes: Uint8Array };

const mostNameBytes = 255;
const dataUri = /^data:image\/[a-z0-9.+-]{1,40}((?:;[a-z0-9=_-]{1,40})*),/i;
const fromArtifacts = /^(?:\.\/)?(?:\/?artifacts\/)?/;
const hint = 'Upload it with request_upload, or save it in /artifacts, and give its plain name.';

/** What the target of a picture names: one of the caller's own, or its bytes. Nothing is fetched, no path is followed. */
export function judgePictureTarget(given: string, mostBytes: number): PictureTarget {
  if (/^\s*data:/i.test(given)) return { bytes: bytesOf(given.trim(), mostBytes) };
  const path = decodePictureTarget(given);
  if (/^\s*(?:[a-z][a-z0-9+.-]*:)?[/\\]{2}/i.test(path) && !/^\s*file:/i.test(path))
    throw refused(given, `Pictures are not fetched from the network: ${shown(given)}. ${hint}`);
  const name = path.replace(fromArtifacts, '');
  if (!isPlain(name))
    throw refused(
      given,
      `Pictures are had by name, not from paths of the server: ${shown(given)} is refused. ${hint}`,
    );
  return { name };
}

function isPlain(name: string): boolean {
  const isName = name !== '' && name !== '.' && name !== '..' && Buffer.byteLength(name) <= mostNameBytes;
  return isName && name.isWellFormed() && !/[/\\\p{Cc}]/u.test(name) && !/^[a-z][a-z0-9+.-]*:/i.test(name);
}

function bytesOf(uri: string, mostBytes: number): Uint8Array {
  const head = dataUri.exec(uri.slice(0, 300));
  if (head === null)
    throw refused(
      uri,
      `This data URI is not one of a picture: ${shown(uri)}. Give PNG, JPEG, GIF, WebP or SVG as data:image/png;base64,…`,
    );
  const body = uri.slice(head[0].length);
  if (body.length > 3 * mostBytes) throw tooLarge(uri, mostBytes);
  const isBase64 = /;base64$/i.test(head[1]!);
  const bytes = isBase64
    ? fromBase64(uri, decodePictureTarget(body))
    : Buffer.from(decodePictureTarget(body), 'utf8');
  if (bytes.byteLength > mostBytes) throw tooLarge(uri, mostBytes);
  return bytes;
}

function fromBase64(uri: string, text: string): Uint8Array {
  const given = text.replace(/\s+/g, '');
  if (given === '' || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(given))
    throw refused(uri, `The base64 of this picture is damaged: ${shown(uri)}. ${hint}`);
  return Buffer.from(given, 'base64');
}

/** Pandoc writes a space as %20; a name with a percent sign of its own is no such text. */
function decodePictureTarget(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function tooLarge(uri: string, mostBytes: number): WorkcrateError {
  return refused(uri, `A picture in the text has more than ${mostBytes} bytes: ${shown(uri)}. ${hint}`);
}

function refused(given: string, message: string): WorkcrateError {
  return new WorkcrateError('document_invalid', message, { details: { picture: cut(given) } });
}

const cut = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text).toWellFormed();
const shown = (text: string): string => JSON.stringify(cut(text));
