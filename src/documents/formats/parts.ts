import type { Part } from './archive.ts';

/** The parts, with the text of one of them changed. A part that is not there is left out. */
export function edited(
  parts: readonly Part[],
  name: string,
  change: (text: string) => string,
): readonly Part[] {
  return parts.map((part) => {
    if (part.name !== name) return part;
    return { name, bytes: Buffer.from(change(Buffer.from(part.bytes).toString('utf8'))) };
  });
}

/** Text as it may stand in an element or an attribute of XML. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}
