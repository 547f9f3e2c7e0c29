import type { DocumentFormat, DocumentPicture, PreparedDocument } from '../document.ts';
import type { Pandoc, PandocWarning } from '../pandoc/pandoc.ts';
import { detectPictureKind, type PictureKind } from '../pictures.ts';
import type { Typst } from '../typst/typst.ts';
import { drawingPackage, type UndrawnReason } from './drawing.ts';

export interface DocumentEngines {
  readonly pandoc: Pandoc;
  readonly typst: Typst;
}

/** What is needed to write one format. */
export interface FormatJob {
  readonly prepared: PreparedDocument;
  readonly engines: DocumentEngines;
  readonly signal: AbortSignal;
}

export interface FormatResult {
  readonly bytes: Uint8Array;
  readonly warnings: readonly string[];
}

/** The pictures as files that an engine may read. */
export function toPictureFiles(pictures: PreparedDocument['pictures']): Record<string, Uint8Array> {
  return Object.fromEntries(pictures.map(({ name, bytes }) => [name, bytes]));
}

const maxFormatWarnings = 20;
const maxWarningLength = 300;

/** We say these better ourselves, or the user cannot do anything about them. */
const ignoredPandocWarnings = new Set([
  'CouldNotConvertImage',
  'CouldNotLoadTranslations',
  'NoTranslation',
  'NoTitleElement',
  'NoLangSpecified',
  'Deprecated',
]);

export function summarizePandocWarnings(warnings: readonly PandocWarning[]): string[] {
  const messages = warnings.filter(({ type }) => !ignoredPandocWarnings.has(type)).map(describePandocWarning);
  const different = [...new Set(messages)];
  if (different.length <= maxFormatWarnings) return different;
  return [
    ...different.slice(0, maxFormatWarnings),
    `… and ${different.length - maxFormatWarnings} more warnings.`,
  ];
}

/** Shortens the warnings about maths, which explain Pandoc's grammar at length. */
function describePandocWarning({ type, message }: PandocWarning): string {
  if (type !== 'CouldNotConvertTeXMath') return shortenWarning(message);
  const formula = message
    .replace(/^Could not convert TeX math /, '')
    .replace(/, rendering as TeX[\s\S]*$/, '');
  return `Maths that could not be converted is in the document as TeX: ${shortenWarning(formula)}`;
}

function shortenWarning(message: string): string {
  const line = message.replaceAll(/\s+/g, ' ').trim();
  return line.length > maxWarningLength ? `${line.slice(0, maxWarningLength)}…` : line;
}

const emptyFrameReasons = {
  docx: 'older versions of Word, Word on the web and LibreOffice show an empty frame',
  pptx: 'older versions of PowerPoint show an empty frame',
} as const;

/** Kinds of pictures that a format can contain, but many programs cannot show. */
const unsupportedPictures: Partial<
  Record<DocumentFormat, { kinds: readonly PictureKind['extension'][]; why: string }>
> = {
  docx: { kinds: ['webp'], why: emptyFrameReasons.docx },
  pptx: { kinds: ['webp'], why: emptyFrameReasons.pptx },
  epub: { kinds: ['webp'], why: 'many readers show nothing' },
  latex: { kinds: ['svg', 'gif', 'webp'], why: 'LaTeX cannot typeset it' },
};

export function listPictureWarnings(format: DocumentFormat, pictures: readonly DocumentPicture[]): string[] {
  const { kinds, why } = unsupportedPictures[format] ?? { kinds: [], why: '' };
  return pictures.flatMap(({ called, bytes }) => {
    const kind = detectPictureKind(bytes)?.extension;
    if (kind === undefined || !kinds.includes(kind)) return [];
    return [`${shortenWarning(called)} is ${kind.toUpperCase()}: ${why}. Save it as PNG for this format.`];
  });
}

const undrawnDescriptions: Readonly<Record<UndrawnReason, string>> = {
  'has text': 'is an SVG with text, so no PNG was made from it',
  failed: 'is an SVG, and no PNG could be made from it',
  'not installed': `is an SVG, and no PNG was made from it, because the package ${drawingPackage} is not installed`,
};

/** The warning for an SVG without a PNG, in a format whose programs do not all show SVG. */
export function describeUndrawnPicture(
  format: 'docx' | 'pptx',
  { called }: DocumentPicture,
  why: UndrawnReason,
): string {
  const otherwise = why === 'not installed' ? `, or run: npm install ${drawingPackage}` : '.';
  return `${shortenWarning(called)} ${undrawnDescriptions[why]}: ${emptyFrameReasons[format]}. Save it as PNG for this format${otherwise}`;
}
