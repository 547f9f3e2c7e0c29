/** One document in Typst's markup, to be set as PDF. */
export interface TypstJob {
  readonly source: string;
  /** All that it can read, by plain names. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  readonly pdfA: boolean;
  /** Whether to find out which characters no font has. */
  readonly findMissing: boolean;
}

export interface TypstResult {
  readonly pdf: Uint8Array;
  readonly pages: number;
  readonly warnings: readonly string[];
  /** Characters that no font has, each once; they are boxes on the page. */
  readonly missing: readonly string[];
}

/** The port for PDF, with the same promises as Pandoc's: see pandoc/pandoc.ts. */
export interface Typst extends AsyncDisposable {
  /** Families that a document may use, in the order in which they are looked through. */
  readonly families: readonly string[];
  compile(job: TypstJob, signal: AbortSignal): Promise<TypstResult>;
}
