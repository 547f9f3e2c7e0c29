/**
 * What JSON leaves as it is, although terminals act on it, take it for the end of a line, or show the rest in another
 * order or not at all.
 */
const unprintable =
  // oxlint-disable-next-line no-control-regex -- these are the ones that are looked for
  /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** JSON of plain characters, whatever stands in the value; one line, unless it is to be indented. */
export const plainJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(unprintable, escaped);
