import { WorkcrateError } from '../../errors.ts';
import { rewrite, visit, type Ast, type Inline } from './ast.ts';
import { judgeId } from './attributes.ts';

const schemes = new Set(['http', 'https', 'mailto', 'tel', 'ftp', 'ftps']);
const mostCharacters = 4000;
/** Programs that open a link leave these out, so that they can hide a scheme. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]/gu;

/** No address has these, and code does. */
const unsafe = /["<>`{}|^]/g;

/** The target of a link as it may stand in a document, or null for one that must not. */
export function judgeTarget(given: string): string | null {
  if (given.length > mostCharacters) return null;
  const url = given.toWellFormed().replace(unseen, '').replace(unsafe, encodeURIComponent);
  if (url.startsWith('#')) return `#${judgeId(decoded(url.slice(1)))}`;
  if (url.includes('\\')) return null;
  const scheme = /^([^/?#:]*):/.exec(url)?.[1]?.toLowerCase();
  if (scheme === undefined || schemes.has(scheme)) return url;
  const doi = /^doi:(?:\/\/)?(10\.\d{4,9}\/\S+)$/i.exec(url)?.[1];
  return doi === undefined ? null : `https://doi.org/${doi}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** An address, and what ends the sentence behind it. */
const bare = /^(\(?)(https?:\/\/[^\s<>"]+?)([).,;:!?'"”’]*)$/i;

/** Addresses in the text become links. Pandoc can do this while it reads, but then takes twice as long to read. */
export function withBareLinks(ast: Ast): Ast {
  return rewrite(ast, { inlines: (list) => list.flatMap(linkBareUrl) });
}

function linkBareUrl(node: Inline): Inline[] {
  // What stands in a link has been seen before the link itself.
  if (node.t === 'Link') return [{ ...node, c: [node.c[0], node.c[1].flatMap(unlinked), node.c[2]] }];
  const [, opening, url, rest] = (node.t === 'Str' && bare.exec(node.c)) || [];
  if (url === undefined) return [node];
  const link: Inline = { t: 'Link', c: [['', [], []], [{ t: 'Str', c: url }], [url, '']] };
  return [...words(opening!), link, ...words(rest!)];
}

const unlinked = (node: Inline): Inline[] => (node.t === 'Link' ? node.c[1] : [node]);

const words = (text: string): Inline[] => (text === '' ? [] : [{ t: 'Str', c: text }]);

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

export interface CitedKey {
  readonly key: string;
  readonly count: number;
}

/** Every key that the text cites, in the order in which it first does, and `*` where `nocite` names them all. */
export function citedKeys(ast: Ast): CitedKey[] {
  const counts = new Map<string, number>();
  visit(ast, (node) => {
    if (node.t !== 'Cite') return;
    for (const { citationId } of node.c[0]) counts.set(citationId, (counts.get(citationId) ?? 0) + 1);
  });
  return [...counts].map(([key, count]) => ({ key, count }));
}

/** Citations as the text that they have become: some writers would cite once more. */
export function unwrapCites(ast: Ast): Ast {
  const unwrap = (node: Inline): Inline[] => (node.t === 'Cite' ? node.c[1] : [node]);
  return rewrite(ast, { inlines: (list) => list.flatMap(unwrap) });
}

/** Pictures under the names that they were found under: `picture-1` → `picture-1.png`. */
export function renamePictures(ast: Ast, names: ReadonlyMap<string, string>): Ast {
  const rename = (node: Inline): Inline => {
    if (node.t !== 'Image') return node;
    const [attr, text, [url, title]] = node.c;
    return { t: 'Image', c: [attr, text, [names.get(url) ?? url, title]] };
  };
  return rewrite(ast, { inlines: (list) => list.map(rename) });
}
