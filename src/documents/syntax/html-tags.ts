/** One tag of HTML as Pandoc cuts it out. */
export interface HtmlTag {
  /** In small letters. */
  readonly name: string;
  readonly closes: boolean;
  attribute(name: string): string | null;
}

const mostCharacters = 100_000;
const form = /^<(\/?)([a-z][a-z0-9-]*)(?:\s[^]*|\/)?>$/i;
const attributes = /([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?/g;
const references: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};

/** Null for what is no single tag. */
export function htmlTag(text: string): HtmlTag | null {
  const found = text.length > mostCharacters ? null : form.exec(text);
  if (found === null) return null;
  const name = found[2]!.toLowerCase();
  const rest = text.slice(found[1]!.length + name.length + 1, -1);
  return { name, closes: found[1] === '/', attribute: (wanted) => attributeOf(rest, wanted) };
}

export const isHtmlComment = (text: string): boolean => /^\s*<!--/.test(text);

function attributeOf(text: string, wanted: string): string | null {
  for (const [, name, double, single, bare] of text.matchAll(attributes))
    if (name?.toLowerCase() === wanted) return unescaped(double ?? single ?? bare ?? '');
  return null;
}

function unescaped(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => references[name]!);
}
