/** What may not stand in an IRI as it is, or would end its path. Letters of every language may. */
const toEncode = /[\p{C}\p{Z}"<>\\^`{|}%#?[\]]/gu;

/** The `@id` of a file: its path as a relative IRI reference, which differs wherever the path does. */
export function idOfPath(path: string): string {
  return path.replace(toEncode, percentEncoded);
}

function percentEncoded(character: string): string {
  return [...Buffer.from(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}

/** The path that an `@id` stands for; null where it is not that of a file in the crate. */
export function pathOfId(id: string): string | null {
  if (/^(?:[a-z][a-z0-9+.-]*:|_:|[#/])/i.test(id)) return null;
  const path = decoded(id.replace(/^(?:\.\/)+/, ''));
  const isInside = path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
  return isInside && !/[\\\0]/.test(path) ? path : null;
}

/** Crates are met whose ids are plain paths: there a percent sign is one. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** An id for something that has no address of its own. */
export function localId(kind: string, name: string): string {
  return `#${kind}-${encodeURIComponent(name.toWellFormed())}`;
}
