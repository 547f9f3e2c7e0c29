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
