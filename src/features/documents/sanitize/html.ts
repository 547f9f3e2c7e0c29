import type { PandocAttr, PandocBlock, PandocInline } from './ast.ts';
import { toWordInlines } from './text.ts';

type InlineWrap = (inside: PandocInline[], tag: HtmlTag) => PandocInline;

const createInlineWrap =
  (t: 'Emph' | 'Strong' | 'Underline' | 'Strikeout' | 'Subscript' | 'Superscript'): InlineWrap =>
  (c) => ({ t, c });

/** Tags for which Markdown has markup. */
const wrapsByTag = new Map<string, InlineWrap>([
  ['sub', createInlineWrap('Subscript')],
  ['sup', createInlineWrap('Superscript')],
  ['b', createInlineWrap('Strong')],
  ['strong', createInlineWrap('Strong')],
  ['i', createInlineWrap('Emph')],
  ['em', createInlineWrap('Emph')],
  ['u', createInlineWrap('Underline')],
  ['ins', createInlineWrap('Underline')],
  ['s', createInlineWrap('Strikeout')],
  ['del', createInlineWrap('Strikeout')],
  ['strike', createInlineWrap('Strikeout')],
  ['a', (c, tag) => ({ t: 'Link', c: [['', [], []], c, [tag.attribute('href') ?? '', '']] })],
]);

/** Tags that only say how something looks or where it is: they are dropped, their text stays. */
const droppedHtmlTags = new Set(
  'span font small big kbd mark abbr cite center p div section article details summary figure figcaption'.split(
    ' ',
  ),
);

/** A tag within more open tags than this is text. */
const maxOpenHtmlTags = 5;

interface OpenHtmlTag {
  readonly tag: HtmlTag;
  readonly text: string;
  /** Where its content begins in the list. */
  readonly at: number;
}

/** Called for each tag that stays in the document as text. */
export type ReportHtmlTag = (tag: string) => void;

/** Replaces HTML by Markdown where there is an equivalent, and by text elsewhere. */
export function sanitizeHtmlInlines(list: readonly PandocInline[], report: ReportHtmlTag): PandocInline[] {
  if (!list.some(isHtmlInline)) return [...list];
  const done: PandocInline[] = [];
  const open: OpenHtmlTag[] = [];
  for (const node of list) {
    if (isHtmlInline(node)) handleHtmlTag(done, open, node.c[1], report);
    else done.push(node);
  }
  for (const left of open.toReversed()) done.splice(left.at, 0, ...htmlToText(left.text, report));
  return done;
}

function handleHtmlTag(done: PandocInline[], open: OpenHtmlTag[], text: string, report: ReportHtmlTag): void {
  const tag = parseHtmlTag(text);
  if (isHtmlComment(text) || (tag !== null && droppedHtmlTags.has(tag.name))) return;
  if (tag?.name === 'br') done.push({ t: 'LineBreak' });
  else if (tag?.name === 'img' && tag.attribute('src') !== null) done.push(toImageInline(tag));
  else if (tag === null || !wrapsByTag.has(tag.name)) done.push(...htmlToText(text, report));
  else if (!tag.closes && open.length < maxOpenHtmlTags) open.push({ tag, text, at: done.length });
  else if (!tag.closes || !closeHtmlTag(done, open, tag.name, report)) done.push(...htmlToText(text, report));
}

/** Wraps what came since the tag was opened. Tags that were opened since and never closed become text. */
function closeHtmlTag(
  done: PandocInline[],
  open: OpenHtmlTag[],
  name: string,
  report: ReportHtmlTag,
): boolean {
  const at = open.findLastIndex(({ tag }) => tag.name === name);
  if (at < 0) return false;
  for (const left of open.splice(at + 1).toReversed())
    done.splice(left.at, 0, ...htmlToText(left.text, report));
  const opened = open.pop()!;
  const inside = done.splice(opened.at);
  done.push(wrapsByTag.get(name)!(inside, opened.tag));
  return true;
}

function toImageInline(tag: HtmlTag): PandocInline {
  const pairs = ['width', 'height'].flatMap((key): PandocAttr[2] => {
    const value = tag.attribute(key);
    return value === null ? [] : [[key, /^\d+$/.test(value) ? `${value}px` : value]];
  });
  const alt = toWordInlines(tag.attribute('alt') ?? '');
  return { t: 'Image', c: [['', [], pairs], alt, [tag.attribute('src')!, '']] };
}

/** The same for HTML on lines of its own. */
export function sanitizeHtmlBlock(text: string, report: ReportHtmlTag): PandocBlock[] {
  const tag = parseHtmlTag(text);
  if (isHtmlComment(text) || tag?.name === 'br' || (tag !== null && droppedHtmlTags.has(tag.name))) return [];
  if (tag?.name === 'hr') return [{ t: 'HorizontalRule' }];
  if (tag?.name === 'img' && tag.attribute('src') !== null) return [{ t: 'Para', c: [toImageInline(tag)] }];
  return [{ t: 'Para', c: htmlToText(text, report) }];
}

function htmlToText(text: string, report: ReportHtmlTag): PandocInline[] {
  report(/^<\/?([a-z][a-z0-9-]{0,30})/i.exec(text)?.[1]?.toLowerCase() ?? 'html');
  return toWordInlines(text);
}

const isHtmlInline = (node: PandocInline): node is Extract<PandocInline, { t: 'RawInline' }> =>
  node.t === 'RawInline' && /^html[45]?$/i.test(node.c[0]);

/** One tag of HTML, as Pandoc splits them. */
export interface HtmlTag {
  /** In lower case. */
  readonly name: string;
  readonly closes: boolean;
  attribute(name: string): string | null;
}

const maxHtmlTagCharacters = 100_000;
const htmlTagPattern = /^<(\/?)([a-z][a-z0-9-]*)(?:\s[^]*|\/)?>$/i;
const htmlAttributePattern = /([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?/g;
const htmlEntities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};

/** Null if the text is not a single tag. */
function parseHtmlTag(text: string): HtmlTag | null {
  const found = text.length > maxHtmlTagCharacters ? null : htmlTagPattern.exec(text);
  if (found === null) return null;
  const name = found[2]!.toLowerCase();
  const rest = text.slice(found[1]!.length + name.length + 1, -1);
  return { name, closes: found[1] === '/', attribute: (wanted) => readHtmlAttribute(rest, wanted) };
}

const isHtmlComment = (text: string): boolean => /^\s*<!--/.test(text);

function readHtmlAttribute(text: string, wanted: string): string | null {
  for (const [, name, double, single, bare] of text.matchAll(htmlAttributePattern))
    if (name?.toLowerCase() === wanted) return unescapeHtml(double ?? single ?? bare ?? '');
  return null;
}

function unescapeHtml(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => htmlEntities[name]!);
}
