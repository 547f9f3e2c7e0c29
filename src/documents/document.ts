/**
 * The types that all folders of this room share: formats, layout, a prepared document, a written one. No behaviour.
 */

/** Everything that a document can be built into. */
export const documentFormats = [
  'pdf',
  'docx',
  'html',
  'odt',
  'epub',
  'latex',
  'typst',
  'pptx',
  'markdown',
  'plain',
] as const;

export type DocumentFormat = (typeof documentFormats)[number];

/** How a document is to look. What the front matter of the Markdown says gives way to what the caller says. */
export interface DocumentLayout {
  readonly title: string | null;
  readonly authors: readonly string[];
  /** As it is to be printed below the title; null: none. */
  readonly date: string | null;
  /** BCP 47, such as `en` or `de-CH`. */
  readonly language: string;
  readonly paper: PaperSize;
  /** On all four sides, in millimetres. */
  readonly marginMm: number;
  readonly fontSizePt: number;
  readonly toc: boolean;
  readonly numberSections: boolean;
  /** Whether PDF is to be PDF/A-2b, for archives. */
  readonly pdfA: boolean;
}

/** What neither the caller nor the front matter says. */
export const defaultLayout: DocumentLayout = {
  title: null,
  authors: [],
  date: null,
  language: 'en',
  paper: 'a4',
  marginMm: 25,
  fontSizePt: 11,
  toc: false,
  numberSections: false,
  pdfA: false,
};

export const paperSizes = ['a4', 'letter'] as const;
export type PaperSize = (typeof paperSizes)[number];

/** A file beside the document, under a name that we gave it: `picture-1.png`. */
export interface DocumentPicture {
  readonly name: string;
  /** As whoever wrote the document knows it. */
  readonly called: string;
  readonly bytes: Uint8Array;
}

/** A document that has been read, judged and cited, ready to be written. */
export interface PreparedDocument {
  /** Pandoc's JSON, judged: it holds no raw code, no unknown attribute, no picture but those below. */
  readonly ast: Uint8Array;
  readonly layout: DocumentLayout;
  readonly pictures: readonly DocumentPicture[];
  /** A DOCX whose styles are taken over; null: the usual one. */
  readonly referenceDoc: Uint8Array | null;
  /** Whether the text has characters that the usual fonts may lack. */
  readonly hasRareCharacters: boolean;
}

/** One format, written. */
export interface WrittenDocument {
  readonly bytes: Uint8Array;
  /** With its dot: `.pdf`; `.latex.zip` where pictures go along, as for LaTeX, Typst and Markdown. */
  readonly extension: string;
  readonly mediaType: string;
  readonly warnings: readonly string[];
}
