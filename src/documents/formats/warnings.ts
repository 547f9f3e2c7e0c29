import type { Format, Picture } from '../document.ts';
import type { PandocWarning } from '../pandoc/pandoc.ts';
import { pictureKind, type PictureKind } from '../picture-kind.ts';

const MOST_WARNINGS = 20;
const LONGEST = 300;

/** Said better by ourselves, or of no use to somebody who cannot change it. */
const unsaid = new Set(['CouldNotConvertImage', 'NoTitleElement', 'NoLangSpecified', 'Deprecated']);

export function warningsFrom(warnings: readonly PandocWarning[]): string[] {
  const said = warnings.filter(({ type }) => !unsaid.has(type)).map(wordsOf);
  const different = [...new Set(said)];
  if (different.length <= MOST_WARNINGS) return different;
  return [...different.slice(0, MOST_WARNINGS), `… and ${different.length - MOST_WARNINGS} more warnings.`];
}

/** What Pandoc says of maths goes on about its grammar. */
function wordsOf({ type, message }: PandocWarning): string {
  if (type !== 'CouldNotConvertTeXMath') return shortened(message);
  const formula = message
    .replace(/^Could not convert TeX math /, '')
    .replace(/, rendering as TeX[\s\S]*$/, '');
  return `Maths that is not understood stands in the document as TeX: ${shortened(formula)}`;
}

function shortened(message: string): string {
  const line = message.replaceAll(/\s+/g, ' ').trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}

/** Pictures that a format carries, and that programs which open it may not show. */
const doubtful: Partial<Record<Format, { kinds: readonly PictureKind['extension'][]; why: string }>> = {
  docx: {
    kinds: ['svg', 'webp'],
    why: 'older versions of Word, Word on the web and LibreOffice show an empty frame',
  },
  pptx: { kinds: ['svg', 'webp'], why: 'older versions of PowerPoint show an empty frame' },
  epub: { kinds: ['webp'], why: 'many readers show nothing' },
  latex: { kinds: ['svg', 'gif', 'webp'], why: 'LaTeX cannot set it as it is' },
};

export function pictureWarnings(format: Format, pictures: readonly Picture[]): string[] {
  const { kinds, why } = doubtful[format] ?? { kinds: [], why: '' };
  return pictures.flatMap(({ name, bytes }) => {
    const kind = pictureKind(bytes)?.extension;
    if (kind === undefined || !kinds.includes(kind)) return [];
    return [`${name} is ${kind.toUpperCase()}: ${why}. Save it as PNG for this format.`];
  });
}
