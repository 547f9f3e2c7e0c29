import { WorkcrateError } from '../../../platform/errors.ts';
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
   * `written`: as its author wrote it. `cited`: sanitized once, then cited; pictures have their new names, and raw code
   * from a bibliography becomes text.
   */
  readonly stage: 'written' | 'cited';
  /** Limit for one picture in the text itself. */
  readonly mostPictureBytes: number;
}

export interface SanitizedDocument {
  /** Contains no code, and no names of files or places except links and `picture-N`. */
  readonly ast: PandocAst;
  /** What the front matter says. */
  readonly layout: Partial<DocumentLayout>;
  /** The caller's pictures, which have to be found. */
  readonly pictures: readonly WantedPicture[];
  /** Pictures that were in the text itself. Only their length is checked so far. */
  readonly embedded: readonly EmbeddedPicture[];
  readonly warnings: readonly string[];
}

/** Removes from a document everything that a writer could turn into code, and refuses what is meant as code. */
export function sanitizeAst(given: PandocAst, policy: SanitizePolicy): SanitizedDocument {
  const found = collectFindings(policy.mostPictureBytes);
  const { meta, layout, ignored } = sanitizeFrontMatter(given, policy);
  const text = { ...given, meta };
  const sanitized = rewriteAst(policy.stage === 'written' ? applyTypography(linkBareUrls(text)) : text, {
    attr: sanitizeAttr,
    inlines: (list) => sanitizeInlines(list, policy, found),
    blocks: (list) => sanitizeBlocks(list, policy, found),
  });
  // Links to references exist only after citing.
  const ast = policy.stage === 'cited' ? makeAnchorsUnique(sanitized, found.lostLink) : sanitized;
  const warnings = [...(ignored.length > 0 ? [describeIgnoredKeys(ignored)] : []), ...found.warnings()];
  // From the sanitized metadata, so that `applyLayoutMetadata` recognizes them.
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
  return sanitizeHtmlInlines(list, found.htmlTag).flatMap((node): PandocInline[] => {
    if (node.t === 'Link') return sanitizeLink(node, found);
    if (node.t === 'Image') return [sanitizeImage(node, policy, found)];
    if (node.t === 'Str') found.findLatexCommand(node.c);
    if (node.t === 'Math') return [{ t: 'Math', c: [node.c[0], removeTexLabels(node.c[1])] }];
    return node.t === 'RawInline' ? rawToText(node.c, policy) : [removeEmptyAnchor(node)];
  });
}

function sanitizeBlocks(list: PandocBlock[], policy: SanitizePolicy, found: SanitizeFindings): PandocBlock[] {
  return list.flatMap((block): PandocBlock[] => {
    if (block.t === 'Null') return [];
    if (block.t !== 'RawBlock') return splitPages(block).flatMap(splitPageBreakDivision);
    if (/^html[45]?$/i.test(block.c[0]))
      return sanitizeHtmlBlock(block.c[1], found.htmlTag).map(sanitizeParagraph);
    return [{ t: 'Para', c: rawToText(block.c, policy) }];
  });

  function splitPages(block: PandocBlock): PandocBlock[] {
    return policy.stage === 'written' ? splitAtPageBreaks(block, found.latexCommand) : [block];
  }

  /** An `<img>` on a line of its own became a picture only now. */
  function sanitizeParagraph(block: PandocBlock): PandocBlock {
    return block.t === 'Para' ? { t: 'Para', c: sanitizeInlines(block.c, policy, found) } : block;
  }
}

/** Only LaTeX can refer to formulas; the other writers would print the source of a formula with labels. */
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
  if (url !== '') found.removedLink(url);
  return text;
}

function sanitizeImage(
  node: Extract<PandocInline, { t: 'Link' | 'Image' }>,
  { stage }: SanitizePolicy,
  found: SanitizeFindings,
): PandocInline {
  const [attr, text, [url, title]] = node.c;
  // Attributes from HTML are not sanitized yet.
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

/** A picture that the document names, and its new name, without an extension: `picture-1`. */
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
/** LaTeX commands that are meant to take effect; others, as in `C:\Users`, are just text. */
const latexCommandPattern =
  /^\\(?:begin|end|textbf|textit|emph|underline|cite[a-z]*|ref|label|(?:sub)*section|[vh]space|centering|includegraphics|footnote|noindent|maketitle|tableofcontents|bibliography|usepackage|newcommand|input|include)\b\*?(?:\{[^{}]{0,40}\})?/;

/** Collects what is found while a document is sanitized. */
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
    htmlTag: (tag: string): unknown => tags.add(tag),
    removedLink: (url: string): unknown => links.add(url.slice(0, 60).toWellFormed()),
    lostLink: (target: string): unknown => lost.add(target.slice(0, 60)),
    latexCommand: (text: string): unknown => commands.add(text),
    findLatexCommand(text: string) {
      const command = text.startsWith('\\') ? latexCommandPattern.exec(text)?.[0] : undefined;
      if (command !== undefined) commands.add(command);
    },
    /** The new name of a picture; the same picture gets the same name. */
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
