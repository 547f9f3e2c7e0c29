import { WorkcrateError } from '../../errors.ts';
import type { Layout } from '../document.ts';
import { rewrite, type Ast, type Block, type Inline } from './ast.ts';
import { emptiedBreaks, judgeAttr, pageBreaksOf, withAnchors, withoutLostAnchor } from './attributes.ts';
import { citedMetadata, ignoredWarning, namesIn, readFrontMatter, type FrontMatter } from './front-matter.ts';
import { htmlBlock, htmlInlines } from './html.ts';
import { judgePictureTarget, judgeTarget, withBareLinks } from './links.ts';
import { withTypography, wordsAsInlines } from './text.ts';

export interface Policy {
  /**
   * `written`: as somebody wrote it. `cited`: judged before, with citations and a bibliography since; pictures have
   * their new names then, and raw code out of a bibliography is text.
   */
  readonly stage: 'written' | 'cited';
  /** Of one picture in the text itself. */
  readonly mostPictureBytes: number;
}

export interface Judged {
  /** Nothing in it is code, and nothing names a file or a place, apart from links and `picture-N`. */
  readonly ast: Ast;
  /** What the front matter says. */
  readonly layout: Partial<Layout>;
  /** Pictures of the caller's that have to be found. */
  readonly pictures: readonly WantedPicture[];
  /** Pictures that stood in the text, of which nothing is known but that they are not too long. */
  readonly embedded: readonly EmbeddedPicture[];
  readonly warnings: readonly string[];
}

/** Takes out of a document everything that a writer could turn into code, and refuses what is meant as such. */
export function judge(given: Ast, policy: Policy): Judged {
  const found = findings(policy.mostPictureBytes);
  const { meta, layout, ignored } = frontMatter(given, policy);
  const text = { ...given, meta };
  const judged = rewrite(policy.stage === 'written' ? withTypography(withBareLinks(text)) : text, {
    attr: judgeAttr,
    inlines: (list) => judgeInlines(list, policy, found),
    blocks: (list) => judgeBlocks(list, policy, found),
  });
  // What is cited is linked to only then.
  const ast = policy.stage === 'cited' ? withAnchors(judged, found.linkLost) : judged;
  const warnings = [...(ignored.length > 0 ? [ignoredWarning(ignored)] : []), ...found.warnings()];
  // Named as they have become, so that withMetadata knows them again.
  const named = { ...layout, ...namesIn(ast.meta) };
  return { ast, layout: named, pictures: found.pictures(), embedded: found.embedded(), warnings };
}

function frontMatter({ meta }: Ast, { stage }: Policy): FrontMatter {
  if (stage === 'written') return readFrontMatter(meta);
  return { meta: citedMetadata(meta), layout: {}, ignored: [] };
}

function judgeInlines(list: Inline[], policy: Policy, found: Findings): Inline[] {
  return htmlInlines(list, found.htmlStands).flatMap((node): Inline[] => {
    if (node.t === 'Link') return judgeLink(node, found);
    if (node.t === 'Image') return [judgeImage(node, policy, found)];
    if (node.t === 'Str') found.look(node.c);
    if (node.t === 'Math') return [{ t: 'Math', c: [node.c[0], withoutLabels(node.c[1])] }];
    return node.t === 'RawInline' ? rawAsText(node.c, policy) : [withoutLostAnchor(node)];
  });
}

function judgeBlocks(list: Block[], policy: Policy, found: Findings): Block[] {
  return list.flatMap((block): Block[] => {
    if (block.t === 'Null') return [];
    if (block.t !== 'RawBlock') return brokenPages(block).flatMap(emptiedBreaks);
    if (/^html[45]?$/i.test(block.c[0])) return htmlBlock(block.c[1], found.htmlStands).map(judged);
    return [{ t: 'Para', c: rawAsText(block.c, policy) }];
  });

  function brokenPages(block: Block): Block[] {
    return policy.stage === 'written' ? pageBreaksOf(block, found.breakStands) : [block];
  }

  /** An `<img>` on a line of its own has become a picture only now. */
  function judged(block: Block): Block {
    return block.t === 'Para' ? { t: 'Para', c: judgeInlines(block.c, policy, found) } : block;
  }
}

/** Only LaTeX can refer to formulas; with labels in them, the other writers would show their source. */
function withoutLabels(formula: string): string {
  return formula.replaceAll(/\\label\s*\{[^{}]*\}|\\(?:nonumber|notag)\b/g, ' ');
}

function judgeLink(node: Extract<Inline, { t: 'Link' | 'Image' }>, found: Findings): Inline[] {
  const [attr, text, [url, title]] = node.c;
  const target = judgeTarget(url);
  if (target !== null && target !== '')
    return [{ t: 'Link', c: [judgeAttr(attr, 'Link'), text, [target, title]] }];
  if (url !== '') found.linkRemoved(url);
  return text;
}

function judgeImage(
  node: Extract<Inline, { t: 'Link' | 'Image' }>,
  { stage }: Policy,
  found: Findings,
): Inline {
  const [attr, text, [url, title]] = node.c;
  // The attributes of those that were HTML have not been through yet.
  const shown = (name: string): Inline => ({
    t: 'Image',
    c: [judgeAttr(attr, 'Image'), text, [name, title]],
  });
  if (stage === 'written') return shown(found.picture(url));
  if (!/^picture-\d{1,4}(?:\.(?:png|jpg|gif|webp|svg))?$/.test(url))
    throw new WorkcrateError('document_invalid', 'A reference or a citation style must not name pictures.');
  return shown(url);
}

function rawAsText([format, text]: [string, string], { stage }: Policy): Inline[] {
  if (stage === 'cited') return wordsAsInlines(text);
  const [shown, start] = [format, text].map((each) =>
    JSON.stringify(each.length > 60 ? `${each.slice(0, 60)}…` : each),
  );
  throw new WorkcrateError(
    'document_invalid',
    `Raw LaTeX, Typst and the like are not taken: code in ${shown} begins with ${start}. Say it in Markdown, or show it as a block of code, with a dot in place of the equals sign.`,
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

export type Findings = ReturnType<typeof findings>;

const mostPictures = 500;
const mostNamed = 10;
/** Commands of LaTeX that somebody means to take effect; others, such as in `C:\Users`, are just text. */
const latex =
  /^\\(?:begin|end|textbf|textit|emph|underline|cite[a-z]*|ref|label|(?:sub)*section|[vh]space|centering|includegraphics|footnote|noindent|maketitle|tableofcontents|bibliography|usepackage|newcommand|input|include)\b\*?(?:\{[^{}]{0,40}\})?/;

/** What is met while a document is judged. */
function findings(mostPictureBytes: number) {
  const namesOfUrls = new Map<string, string>();
  const wanted = new Map<string, WantedPicture>();
  const embedded: EmbeddedPicture[] = [];
  const tags = new Set<string>();
  const commands = new Set<string>();
  const links = new Set<string>();
  const lost = new Set<string>();

  function add(url: string): string {
    const target = judgePictureTarget(url, mostPictureBytes);
    const known = 'name' in target ? wanted.get(target.name) : undefined;
    if (known !== undefined) return known.as;
    const count = wanted.size + embedded.length;
    if (count >= mostPictures)
      throw new WorkcrateError(
        'document_invalid',
        `The document has more than ${mostPictures} pictures: split it.`,
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
      const command = text.startsWith('\\') ? latex.exec(text)?.[0] : undefined;
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
      ...sentence('HTML stands in the document as text (write it in Markdown), for these tags', tags),
      ...sentence('LaTeX stands in the document as text (maths belongs between dollar signs)', commands),
      ...sentence('Links that a document must not have were removed, their text was kept', links),
      ...sentence('Links to places that are not in the document were removed, their text was kept', lost),
    ],
  };
}

function sentence(start: string, named: ReadonlySet<string>): string[] {
  if (named.size === 0) return [];
  const few = [...named].slice(0, mostNamed).map((name) => JSON.stringify(name));
  const more = named.size > mostNamed ? ` and ${named.size - mostNamed} more` : '';
  return [`${start}: ${few.join(', ')}${more}.`];
}
