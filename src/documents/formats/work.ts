import type { Format, Picture, Prepared } from '../document.ts';
import type { Pandoc, PandocWarning } from '../pandoc/pandoc.ts';
import { pictureKind, type PictureKind } from '../pictures.ts';
import type { Typst } from '../typst/typst.ts';
import { drawingPackage, type Undrawn } from './drawing.ts';

export interface Engines {
  readonly pandoc: Pandoc;
  readonly typst: Typst;
}

/** What it takes to write one format. */
export interface Work {
  readonly prepared: Prepared;
  readonly engines: Engines;
  readonly signal: AbortSignal;
}

export interface Result {
  readonly bytes: Uint8Array;
  readonly warnings: readonly string[];
}

/** The pictures as files that an engine may read. */
export function filesOf(pictures: Prepared['pictures']): Record<string, Uint8Array> {
  return Object.fromEntries(pictures.map(({ name, bytes }) => [name, bytes]));
}

const MOST_WARNINGS = 20;
const LONGEST = 300;

/** Said better by ourselves, or of no use to somebody who cannot change it. */
const unsaid = new Set([
  'CouldNotConvertImage',
  'CouldNotLoadTranslations',
  'NoTranslation',
  'NoTitleElement',
  'NoLangSpecified',
  'Deprecated',
]);

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

const emptyFrames = {
  docx: 'older versions of Word, Word on the web and LibreOffice show an empty frame',
  pptx: 'older versions of PowerPoint show an empty frame',
} as const;

/** Pictures that a format carries, and that programs which open it may not show. */
const doubtful: Partial<Record<Format, { kinds: readonly PictureKind['extension'][]; why: string }>> = {
  docx: { kinds: ['webp'], why: emptyFrames.docx },
  pptx: { kinds: ['webp'], why: emptyFrames.pptx },
  epub: { kinds: ['webp'], why: 'many readers show nothing' },
  latex: { kinds: ['svg', 'gif', 'webp'], why: 'LaTeX cannot set it as it is' },
};

export function pictureWarnings(format: Format, pictures: readonly Picture[]): string[] {
  const { kinds, why } = doubtful[format] ?? { kinds: [], why: '' };
  return pictures.flatMap(({ called, bytes }) => {
    const kind = pictureKind(bytes)?.extension;
    if (kind === undefined || !kinds.includes(kind)) return [];
    return [`${shortened(called)} is ${kind.toUpperCase()}: ${why}. Save it as PNG for this format.`];
  });
}

const undrawn: Readonly<Record<Undrawn, string>> = {
  'has text': 'is SVG and has text, so that no PNG was made of it',
  failed: 'is SVG, and no PNG could be made of it',
  'not installed': `is SVG, and without the package ${drawingPackage} no PNG is made of it`,
};

/** An SVG that stands alone in a format whose programs do not all show it. */
export function undrawnWarning(format: 'docx' | 'pptx', { called }: Picture, why: Undrawn): string {
  const otherwise = why === 'not installed' ? `, or run: npm install ${drawingPackage}` : '.';
  return `${shortened(called)} ${undrawn[why]}: ${emptyFrames[format]}. Save it as PNG for this format${otherwise}`;
}
