import type { Attr, Block, Inline } from './ast.ts';
import { wordsAsInlines } from './text.ts';

type Wrap = (inside: Inline[], tag: HtmlTag) => Inline;

const wrapper =
  (t: 'Emph' | 'Strong' | 'Underline' | 'Strikeout' | 'Subscript' | 'Superscript'): Wrap =>
  (c) => ({ t, c });

/** Tags that Markdown has a mark for. */
const wraps = new Map<string, Wrap>([
  ['sub', wrapper('Subscript')],
  ['sup', wrapper('Superscript')],
  ['b', wrapper('Strong')],
  ['strong', wrapper('Strong')],
  ['i', wrapper('Emph')],
  ['em', wrapper('Emph')],
  ['u', wrapper('Underline')],
  ['ins', wrapper('Underline')],
  ['s', wrapper('Strikeout')],
  ['del', wrapper('Strikeout')],
  ['strike', wrapper('Strikeout')],
  ['a', (c, tag) => ({ t: 'Link', c: [['', [], []], c, [tag.attribute('href') ?? '', '']] })],
]);

/** Tags that only say how something looks or where it stands: their text stays, they go. */
const plainTags = new Set(
  'span font small big kbd mark abbr cite center p div section article details summary figure figcaption'.split(
    ' ',
  ),
);

/** A tag within more open tags than this is text. */
const mostOpen = 5;

interface Open {
  readonly tag: HtmlTag;
  readonly text: string;
  /** Where in the list its insides begin. */
  readonly at: number;
}

/** Says that a tag stands in the document as text. */
export type Told = (tag: string) => void;

/** Inlines without HTML: what Markdown can say is said in Markdown's way, and what else there is stands as text. */
export function htmlInlines(list: readonly Inline[], told: Told): Inline[] {
  if (!list.some(isHtml)) return [...list];
  const done: Inline[] = [];
  const open: Open[] = [];
  for (const node of list) {
    if (isHtml(node)) takeTag(done, open, node.c[1], told);
    else done.push(node);
  }
  for (const left of open.toReversed()) done.splice(left.at, 0, ...asText(left.text, told));
  return done;
}

function takeTag(done: Inline[], open: Open[], text: string, told: Told): void {
  const tag = htmlTag(text);
  if (isHtmlComment(text) || (tag !== null && plainTags.has(tag.name))) return;
  if (tag?.name === 'br') done.push({ t: 'LineBreak' });
  else if (tag?.name === 'img' && tag.attribute('src') !== null) done.push(image(tag));
  else if (tag === null || !wraps.has(tag.name)) done.push(...asText(text, told));
  else if (!tag.closes && open.length < mostOpen) open.push({ tag, text, at: done.length });
  else if (!tag.closes || !close(done, open, tag.name, told)) done.push(...asText(text, told));
}

/** Wraps what stands since the tag was opened. Those that were opened within and never closed are text. */
function close(done: Inline[], open: Open[], name: string, told: Told): boolean {
  const at = open.findLastIndex(({ tag }) => tag.name === name);
  if (at < 0) return false;
  for (const left of open.splice(at + 1).toReversed()) done.splice(left.at, 0, ...asText(left.text, told));
  const opened = open.pop()!;
  const inside = done.splice(opened.at);
  done.push(wraps.get(name)!(inside, opened.tag));
  return true;
}

function image(tag: HtmlTag): Inline {
  const pairs = ['width', 'height'].flatMap((key): Attr[2] => {
    const value = tag.attribute(key);
    return value === null ? [] : [[key, /^\d+$/.test(value) ? `${value}px` : value]];
  });
  const alt = wordsAsInlines(tag.attribute('alt') ?? '');
  return { t: 'Image', c: [['', [], pairs], alt, [tag.attribute('src')!, '']] };
}

/** The same for what stands on lines of its own. */
export function htmlBlock(text: string, told: Told): Block[] {
  const tag = htmlTag(text);
  if (isHtmlComment(text) || tag?.name === 'br' || (tag !== null && plainTags.has(tag.name))) return [];
  if (tag?.name === 'hr') return [{ t: 'HorizontalRule' }];
  if (tag?.name === 'img' && tag.attribute('src') !== null) return [{ t: 'Para', c: [image(tag)] }];
  return [{ t: 'Para', c: asText(text, told) }];
}

function asText(text: string, told: Told): Inline[] {
  told(/^<\/?([a-z][a-z0-9-]{0,30})/i.exec(text)?.[1]?.toLowerCase() ?? 'html');
  return wordsAsInlines(text);
}

const isHtml = (node: Inline): node is Extract<Inline, { t: 'RawInline' }> =>
  node.t === 'RawInline' && /^html[45]?$/i.test(node.c[0]);

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
function htmlTag(text: string): HtmlTag | null {
  const found = text.length > mostCharacters ? null : form.exec(text);
  if (found === null) return null;
  const name = found[2]!.toLowerCase();
  const rest = text.slice(found[1]!.length + name.length + 1, -1);
  return { name, closes: found[1] === '/', attribute: (wanted) => attributeOf(rest, wanted) };
}

const isHtmlComment = (text: string): boolean => /^\s*<!--/.test(text);

function attributeOf(text: string, wanted: string): string | null {
  for (const [, name, double, single, bare] of text.matchAll(attributes))
    if (name?.toLowerCase() === wanted) return unescaped(double ?? single ?? bare ?? '');
  return null;
}

function unescaped(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => references[name]!);
}
