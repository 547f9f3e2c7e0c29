import { WorkcrateError } from '../../errors.ts';
import type { DocumentLayout } from '../document.ts';
import { rewriteAst, type PandocAst, type PandocBlock, type PandocInline } from './ast.ts';
import {
  splitPageBreakDivision,
  sanitizeAttr,
  splitAtPageBreaks,
  makeAnchorsUnique,
  removeEmptyAnchor,
} from './attributes.ts';
import {
  readCitedMetadata,
  describeIgnoredKeys,
  readLayoutNames,
  readFrontMatter,
  type FrontMatter,
} from './front-matter.ts';
import { sanitizeHtmlBlock, sanitizeHtmlInlines } from './html.ts';
import { sanitizePictureTarget, sanitizeUrl, linkBareUrls } from './links.ts';
import { applyTypography, toWordInlines } from './text.ts';

export interface SanitizePolicy {
  /**
   * `written`: as somebody wrote it. `cited`: judged before, with citations and a bibliography since; pictures have
   * their new names then, and raw code out of a bibliography is text.
   */
  readonly stage: 'written' | 'cited';
  /** Of one picture in the text itself. */
  readonly mostPictureBytes: number;
}

export interface SanitizedDocument {
  /** Nothing in it is code, and nothing names a file or a place, apart from links and `picture-N`. */
  readonly ast: PandocAst;
  /** What the front matter says. */
  readonly layout: Partial<DocumentLayout>;
  /** Pictures of the caller's that have to be found. */
  readonly pictures: readonly WantedPicture[];
  /** Pictures that stood in the text, of which nothing is known but that they are not too long. */
  readonly embedded: readonly EmbeddedPicture[];
  readonly warnings: readonly string[];
}

/** Takes out of a document everything that a writer could turn into code, and refuses what is meant as such. */
export function sanitizeAst(given: PandocAst, policy: SanitizePolicy): SanitizedDocument {
  const found = collectFindings(policy.mostPictureBytes);
  const { meta, layout, ignored } = sanitizeFrontMatter(given, policy);
  const text = { ...given, meta };
  const judged = rewriteAst(policy.stage === 'written' ? applyTypography(linkBareUrls(text)) : text, {
    attr: sanitizeAttr,
    inlines: (list) => sanitizeInlines(list, policy, found),
    blocks: (list) => sanitizeBlocks(list, policy, found),
  });
  // What is cited is linked to only then.
  const ast = policy.stage === 'cited' ? makeAnchorsUnique(judged, found.linkLost) : judged;
  const warnings = [...(ignored.length > 0 ? [describeIgnoredKeys(ignored)] : []), ...found.warnings()];
  // Named as they have become, so that withMetadata knows them again.
  const named = { ...layout, ...readLayoutNames(ast.meta) };
  return { ast, layout: named, pictures: found.pictures(), embedded: found.embedded(), warnings };
}

function sanitizeFrontMatter({ meta }: PandocAst, { stage }: SanitizePolicy): FrontMatter {
  if (stage === 'written') return readFrontMatter(meta);
  return { meta: readCitedMetadata(meta), layout: {}, ignored: [] };
}

function sanitizeInlines(
  list: PandocInline[],
  policy: SanitizePolicy,
  found: SanitizeFindings,
): PandocInline[] {
  return sanitizeHtmlInlines(list, found.htmlStands).flatMap((node): PandocInline[] => {
    if (node.t === 'Link') return sanitizeLink(node, found);
    if (node.t === 'Image') return [sanitizeImage(node, policy, found)];
    if (node.t === 'Str') found.look(node.c);
    if (node.t === 'Math') return [{ t: 'Math', c: [node.c[0], removeTexLabels(node.c[1])] }];
    return node.t === 'RawInline' ? rawToText(node.c, policy) : [removeEmptyAnchor(node)];
  });
}

function sanitizeBlocks(list: PandocBlock[], policy: SanitizePolicy, found: SanitizeFindings): PandocBlock[] {
  return list.flatMap((block): PandocBlock[] => {
    if (block.t === 'Null') return [];
    if (block.t !== 'RawBlock') return brokenPages(block).flatMap(splitPageBreakDivision);
    if (/^html[45]?$/i.test(block.c[0])) return sanitizeHtmlBlock(block.c[1], found.htmlStands).map(judged);
    return [{ t: 'Para', c: rawToText(block.c, policy) }];
  });

  function brokenPages(block: PandocBlock): PandocBlock[] {
    return policy.stage === 'written' ? splitAtPageBreaks(block, found.breakStands) : [block];
  }

  /** An `<img>` on a line of its own has become a picture only now. */
  function judged(block: PandocBlock): PandocBlock {
    return block.t === 'Para' ? { t: 'Para', c: sanitizeInlines(block.c, policy, found) } : block;
  }
}

/** Only LaTeX can refer to formulas; with labels in them, the other writers would show their source. */
function removeTexLabels(formula: string): string {
  return formula.replaceAll(/\\label\s*\{[^{}]*\}|\\(?:nonumber|notag)\b/g, ' ');
}

function sanitizeLink(
  node: Extract<PandocInline, { t: 'Link' | 'Image' }>,
  found: SanitizeFindings,
): PandocInline[] {
  const [attr, text, [url, title]] = node.c;
  const target = sanitizeUrl(url);
  if (target !== null && target !== '')
    return [{ t: 'Link', c: [sanitizeAttr(attr, 'Link'), text, [target, title]] }];
  if (url !== '') found.linkRemoved(url);
  return text;
}

function sanitizeImage(
  node: Extract<PandocInline, { t: 'Link' | 'Image' }>,
  { stage }: SanitizePolicy,
  found: SanitizeFindings,
): PandocInline {
  const [attr, text, [url, title]] = node.c;
  // The attributes of those that were HTML have not been through yet.
  const shown = (name: string): PandocInline => ({
    t: 'Image',
    c: [sanitizeAttr(attr, 'Image'), text, [name, title]],
  });
  if (stage === 'written') return shown(found.picture(url));
  if (!/^picture-\d{1,4}(?:\.(?:png|jpg|gif|webp|svg))?$/.test(url))
    throw new WorkcrateError(
      'document_invalid',
      'A reference or a citation style must not contain pictures.',
    );
  return shown(url);
}

function rawToText([format, text]: [string, string], { stage }: SanitizePolicy): PandocInline[] {
  if (stage === 'cited') return toWordInlines(text);
  const [shown, start] = [format, text].map((each) =>
    JSON.stringify(each.length > 60 ? `${each.slice(0, 60)}…` : each),
  );
  throw new WorkcrateError(
    'document_invalid',
    `Raw LaTeX, Typst and similar code is not allowed: code in ${shown} begins with ${start}. Write it in Markdown, or show it as a block of code, with a dot instead of the equals sign.`,
  );
}

/** A picture that the document names, and what it is called from now on, without an extension: `picture-1`. */
export interface WantedPicture {
  readonly wanted: string;
  readonly as: string;
}

export interface EmbeddedPicture {
  readonly as: string;
  readonly bytes: Uint8Array;
}

export type SanitizeFindings = ReturnType<typeof collectFindings>;

const maxDocumentPictures = 500;
const maxNamedFindings = 10;
/** Commands of LaTeX that somebody means to take effect; others, such as in `C:\Users`, are just text. */
const latexCommandPattern =
  /^\\(?:begin|end|textbf|textit|emph|underline|cite[a-z]*|ref|label|(?:sub)*section|[vh]space|centering|includegraphics|footnote|noindent|maketitle|tableofcontents|bibliography|usepackage|newcommand|input|include)\b\*?(?:\{[^{}]{0,40}\})?/;

/** What is met while a document is judged. */
function collectFindings(mostPictureBytes: number) {
  const namesOfUrls = new Map<string, string>();
  const wanted = new Map<string, WantedPicture>();
  const embedded: EmbeddedPicture[] = [];
  const tags = new Set<string>();
  const commands = new Set<string>();
  const links = new Set<string>();
  const lost = new Set<string>();

  function add(url: string): string {
    const target = sanitizePictureTarget(url, mostPictureBytes);
    const known = 'name' in target ? wanted.get(target.name) : undefined;
    if (known !== undefined) return known.as;
    const count = wanted.size + embedded.length;
    if (count >= maxDocumentPictures)
      throw new WorkcrateError(
        'document_invalid',
        `The document has more than ${maxDocumentPictures} pictures: split it.`,
      );
    const as = `picture-${count + 1}`;
    if ('name' in target) wanted.set(target.name, { wanted: target.name, as });
    else embedded.push({ as, bytes: target.bytes });
    return as;
  }

  return {
    htmlStands: (tag: string): unknown => tags.add(tag),
    linkRemoved: (url: string): unknown => links.add(url.slice(0, 60).toWellFormed()),
    linkLost: (target: string): unknown => lost.add(target.slice(0, 60)),
    breakStands: (text: string): unknown => commands.add(text),
    look(text: string) {
      const command = text.startsWith('\\') ? latexCommandPattern.exec(text)?.[0] : undefined;
      if (command !== undefined) commands.add(command);
    },
    /** The name of a picture from now on; the same for the same one. */
    picture(url: string): string {
      const as = namesOfUrls.get(url) ?? add(url);
      namesOfUrls.set(url, as);
      return as;
    },
    pictures: (): readonly WantedPicture[] => [...wanted.values()],
    embedded: (): readonly EmbeddedPicture[] => embedded,
    warnings: (): string[] => [
      ...listFindings('HTML was kept as text (write it in Markdown), for these tags', tags),
      ...listFindings('LaTeX was kept as text (maths belongs between dollar signs)', commands),
      ...listFindings('Links that are not allowed in a document were removed; their text was kept', links),
      ...listFindings('Links to places that are not in the document were removed; their text was kept', lost),
    ],
  };
}

function listFindings(start: string, named: ReadonlySet<string>): string[] {
  if (named.size === 0) return [];
  const few = [...named].slice(0, maxNamedFindings).map((name) => JSON.stringify(name));
  const more = named.size > maxNamedFindings ? ` and ${named.size - maxNamedFindings} more` : '';
  return [`${start}: ${few.join(', ')}${more}.`];
}
