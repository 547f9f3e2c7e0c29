import { WorkcrateError } from '../../errors.ts';
import { judgePictureTarget } from './picture-targets.ts';

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
export function findings(mostPictureBytes: number) {
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
