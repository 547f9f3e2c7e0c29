import { readFileSync } from 'node:fs';
import type { NodeCompiler, NodeError, NodeTypstDocument } from '@myriaddreamin/typst-ts-node-compiler';
import { WorkcrateError } from '../../errors.ts';
import { missingCharacters, missingGlyphsWarning } from './fonts.ts';
import { importPackage, type TypstJob, type TypstResult } from './typst.ts';

/** The folder of all documents. There is none by this name: what is in it is in memory alone. */
const root = '/document-that-is-nowhere';

export interface CompilerOptions {
  /** Where the compiler is. */
  readonly url: string;
  /** Files of further fonts, read when a document first asks for them. */
  readonly fonts: readonly string[];
  /** What a document is dated, in seconds since 1970; null: now. */
  readonly epoch: number | null;
}

/** Compiles in this very thread, which hears nothing meanwhile: only for a process of its own. */
export async function createCompiler({ url, fonts, epoch }: CompilerOptions) {
  const { NodeCompiler } = await importPackage(url);
  const withFonts = (blobs: Buffer[]): NodeCompiler =>
    NodeCompiler.create({ workspace: root, fontArgs: [{ fontBlobs: blobs }] });
  const usual = once(() => withFonts([]));
  const wide = once(() =>
    fonts.length === 0 ? usual() : withFonts(fonts.map((file) => readFileSync(file))),
  );

  return (job: TypstJob): TypstResult => {
    const compiler = job.findMissing || job.pdfA ? wide() : usual();
    try {
      for (const [name, bytes] of Object.entries(job.files))
        compiler.mapShadow(placeOf(name), Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      return compileWith(compiler, job, epoch ?? Math.floor(Date.now() / 1000));
    } finally {
      compiler.resetShadow();
      compiler.evictCache(0);
    }
  };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

function placeOf(name: string): string {
  if (!/^[\w-][\w.-]*$/.test(name)) throw new Error(`No plain name: ${name}`);
  return `${root}/${name}`;
}

function compileWith(compiler: NodeCompiler, job: TypstJob, creationTimestamp: number): TypstResult {
  const compiled = compiler.compile({ mainFileContent: job.source });
  const { result } = compiled;
  if (result === null) throw failed(messagesOf(compiled.takeError())[0]);
  const archival = job.pdfA || job.findMissing ? exportArchival(compiler, result, creationTimestamp) : null;
  const missing = archival?.missing ?? [];
  if (job.pdfA && archival!.pdf === null) throw refusedArchival(archival!);
  return {
    pdf: job.pdfA ? archival!.pdf! : compiler.pdf(result, { creationTimestamp }),
    pages: result.numOfPages,
    warnings: warningsOf(compiled.takeWarnings()),
    missing,
  };
}

interface Archival {
  readonly pdf: Buffer | null;
  readonly missing: readonly string[];
  readonly reason: string | undefined;
}

/** PDF/A-2b refuses text that no font can show: nothing else tells of it. */
function exportArchival(
  compiler: NodeCompiler,
  document: NodeTypstDocument,
  creationTimestamp: number,
): Archival {
  try {
    const pdf = compiler.pdf(document, { creationTimestamp, pdfStandard: 'a-2b' });
    return { pdf, missing: [], reason: undefined };
  } catch (error) {
    const { message } = error as Error;
    return { pdf: null, missing: missingCharacters(message), reason: firstMessage(message) };
  }
}

/** The exporter hands out its diagnostics as Rust prints them. */
const firstMessage = (text: string): string | undefined =>
  /message: "((?:[^"\\]|\\.)*)"/s.exec(text)?.[1]?.replaceAll(/\\(.)/gs, '$1');

function refusedArchival({ missing, reason }: Archival): WorkcrateError {
  if (missing.length === 0) return failed(reason);
  const message = `PDF/A cannot be made: ${missingGlyphsWarning(missing)}`;
  return new WorkcrateError('document_failed', message);
}

function failed(message = 'no reason was given'): WorkcrateError {
  const reason = /^maximum \w+( \w+)? depth/.test(message) ? tooDeep : withoutPlaces(message);
  const text = `The document cannot be set as PDF: ${reason}`;
  return new WorkcrateError('document_failed', text);
}

const tooDeep = 'quotations, lists or the like are nested too deeply';

const [mostMessages, longestMessage] = [20, 300];

const withoutPlaces = (message: string): string =>
  message
    .replaceAll(/ \(searched (?:at|for)[^)]*\)/g, '')
    .replaceAll(`${root}/`, '')
    .slice(0, longestMessage);

/** Numbers that the compiler gives to the severity of what it says. */
const [error, warning] = [1, 2];

function messagesOf(said: NodeError | null, severity = error): string[] {
  const lines = (said?.shortDiagnostics ?? []) as readonly { severity: number; message: string }[];
  return lines.filter((line) => line.severity === severity).map(({ message }) => message);
}

/** Families are named in every document, and loaded for some. */
const warningsOf = (said: NodeError | null): string[] =>
  [...new Set(messagesOf(said, warning))]
    .filter((message) => !message.startsWith('unknown font family'))
    .slice(0, mostMessages)
    .map(withoutPlaces);
