import { readFileSync } from 'node:fs';
import type { NodeCompiler, NodeError, NodeTypstDocument } from '@myriaddreamin/typst-ts-node-compiler';
import { WorkcrateError } from '../../../platform/errors.ts';
import { findMissingCharacters, describeMissingGlyphs } from './fonts.ts';
import { importTypstPackage, type TypstJob, type TypstResult } from './typst.ts';

/** The folder of all documents. It does not exist: its files are only in memory. */
const typstRoot = '/document-that-is-nowhere';

export interface TypstCompilerOptions {
  /** Where the compiler package is. */
  readonly url: string;
  /** Files of further fonts, read when a document first needs them. */
  readonly fonts: readonly string[];
  /** Date of a document, in seconds since 1970; null: now. */
  readonly epoch: number | null;
}

/** Compiles in this thread and blocks it meanwhile, so it is only for a process of its own. */
export async function createTypstCompiler({ url, fonts, epoch }: TypstCompilerOptions) {
  const { NodeCompiler } = await importTypstPackage(url);
  const withFonts = (blobs: Buffer[]): NodeCompiler =>
    NodeCompiler.create({ workspace: typstRoot, fontArgs: [{ fontBlobs: blobs }] });
  const usual = createLazy(() => withFonts([]));
  const wide = createLazy(() =>
    fonts.length === 0 ? usual() : withFonts(fonts.map((file) => readFileSync(file))),
  );

  return (job: TypstJob): TypstResult => {
    const compiler = job.findMissing || job.pdfA ? wide() : usual();
    try {
      for (const [name, bytes] of Object.entries(job.files))
        compiler.mapShadow(
          toTypstFilePath(name),
          Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
        );
      return compileTypst(compiler, job, epoch ?? Math.floor(Date.now() / 1000));
    } finally {
      compiler.resetShadow();
      compiler.evictCache(0);
    }
  };
}

function createLazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

function toTypstFilePath(name: string): string {
  if (!/^[\w-][\w.-]*$/.test(name)) throw new Error(`Not a plain name: ${name}`);
  return `${typstRoot}/${name}`;
}

function compileTypst(compiler: NodeCompiler, job: TypstJob, creationTimestamp: number): TypstResult {
  const compiled = compiler.compile({ mainFileContent: job.source });
  const { result } = compiled;
  if (result === null) throw typstFailedError(listTypstMessages(compiled.takeError())[0]);
  const archival = job.pdfA || job.findMissing ? exportPdfA(compiler, result, creationTimestamp) : null;
  const missing = archival?.missing ?? [];
  if (job.pdfA && archival!.pdf === null) throw pdfARefusedError(archival!);
  return {
    pdf: job.pdfA ? archival!.pdf! : compiler.pdf(result, { creationTimestamp }),
    pages: result.numOfPages,
    warnings: listTypstWarnings(compiled.takeWarnings()),
    missing,
  };
}

interface ArchivalExport {
  readonly pdf: Buffer | null;
  readonly missing: readonly string[];
  readonly reason: string | undefined;
}

/** The PDF/A-2b exporter refuses text that no font can show. There is no other way to find it. */
function exportPdfA(
  compiler: NodeCompiler,
  document: NodeTypstDocument,
  creationTimestamp: number,
): ArchivalExport {
  try {
    const pdf = compiler.pdf(document, { creationTimestamp, pdfStandard: 'a-2b' });
    return { pdf, missing: [], reason: undefined };
  } catch (error) {
    const { message } = error as Error;
    return { pdf: null, missing: findMissingCharacters(message), reason: findFirstMessage(message) };
  }
}

/** The exporter returns its diagnostics as Rust prints them. */
const findFirstMessage = (text: string): string | undefined =>
  /message: "((?:[^"\\]|\\.)*)"/s.exec(text)?.[1]?.replaceAll(/\\(.)/gs, '$1');

function pdfARefusedError({ missing, reason }: ArchivalExport): WorkcrateError {
  if (missing.length === 0) return typstFailedError(reason);
  const message = `The PDF/A could not be made: ${describeMissingGlyphs(missing)}`;
  return new WorkcrateError('document_failed', message);
}

function typstFailedError(message = 'no reason was given'): WorkcrateError {
  const reason = /^maximum \w+( \w+)? depth/.test(message) ? tooDeepMessage : removeTypstPaths(message);
  const text = `The PDF could not be made: ${reason}`;
  return new WorkcrateError('document_failed', text);
}

const tooDeepMessage = 'quotations, lists or the like are nested too deeply';

const [mostMessages, longestMessage] = [20, 300];

const removeTypstPaths = (message: string): string =>
  message
    .replaceAll(/ \(searched (?:at|for)[^)]*\)/g, '')
    .replaceAll(`${typstRoot}/`, '')
    .slice(0, longestMessage);

/** The numbers of the severities of a diagnostic. */
const [error, warning] = [1, 2];

function listTypstMessages(said: NodeError | null, severity = error): string[] {
  const lines = (said?.shortDiagnostics ?? []) as readonly { severity: number; message: string }[];
  return lines.filter((line) => line.severity === severity).map(({ message }) => message);
}

/** Every document names all families, but only some documents load them. */
const listTypstWarnings = (said: NodeError | null): string[] =>
  [...new Set(listTypstMessages(said, warning))]
    .filter((message) => !message.startsWith('unknown font family'))
    .slice(0, mostMessages)
    .map(removeTypstPaths);
