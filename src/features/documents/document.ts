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

/** How a document looks. What the caller says overrides the front matter. */
export interface DocumentLayout {
  readonly title: string | null;
  readonly authors: readonly string[];
  /** Printed below the title as it is; null: none. */
  readonly date: string | null;
  /** BCP 47, such as `en` or `de-CH`. */
  readonly language: string;
  readonly paper: PaperSize;
  /** On all four sides, in millimetres. */
  readonly marginMm: number;
  readonly fontSizePt: number;
  readonly toc: boolean;
  readonly numberSections: boolean;
  /** Whether a PDF is PDF/A-2b, for archives. */
  readonly pdfA: boolean;
}

/** For what neither the caller nor the front matter says. */
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
  /** The name that the document uses for it. */
  readonly called: string;
  readonly bytes: Uint8Array;
}

/** A document that has been read, sanitized and cited, ready to be written. */
export interface PreparedDocument {
  /** Pandoc's JSON, sanitized: no raw code, no unknown attribute, no pictures except those below. */
  readonly ast: Uint8Array;
  readonly layout: DocumentLayout;
  readonly pictures: readonly DocumentPicture[];
  /** A DOCX whose styles are used; null: the default one. */
  readonly referenceDoc: Uint8Array | null;
  /** Whether the text has characters that the default fonts may lack. */
  readonly hasRareCharacters: boolean;
}

/** One format, written. */
export interface WrittenDocument {
  readonly bytes: Uint8Array;
  /** With its dot: `.pdf`; `.latex.zip` if pictures are beside it, as with LaTeX, Typst and Markdown. */
  readonly extension: string;
  readonly mediaType: string;
  readonly warnings: readonly string[];
}
