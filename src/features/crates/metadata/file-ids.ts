/** How files are named in metadata: ids for paths, paths for ids, and files that are described only. */

/** Characters that an IRI must escape, or that would end its path. Letters of all languages are allowed. */
const iriReservedPattern = /[\p{C}\p{Z}"<>\\^`{|}%#?[\]]/gu;

/** The `@id` of a file: its path as a relative IRI reference, unique for each path. */
export function pathToEntityId(path: string): string {
  return path.replace(iriReservedPattern, percentEncode);
}

function percentEncode(character: string): string {
  return [...Buffer.from(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}

/** The path of an `@id`; null if it is not the id of a file in the crate. */
export function entityIdToPath(id: string): string | null {
  if (/^(?:[a-z][a-z0-9+.-]*:|_:|[#/])/i.test(id)) return null;
  const path = decodeUriOrKeep(id.replace(/^(?:\.\/)+/, ''));
  const isInside = path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
  return isInside && !/[\\\0]/.test(path) ? path : null;
}

/** Some crates use plain paths as ids; there a percent sign is literal. */
function decodeUriOrKeep(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** How the status of a file begins that is described without its bytes; why follows. Replays and validation read it. */
export const missingMark = 'Not in this crate: ';
