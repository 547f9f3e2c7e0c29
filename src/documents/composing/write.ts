import { asWorkcrateError, publicMessage, type ErrorCode } from '../../errors.ts';
import type { CslItem } from '../citations/bibliography.ts';
import { cite } from '../citations/cite.ts';
import type { Format, Layout, Picture, Prepared, Written } from '../document.ts';
import { writeFormat, type Engines } from '../formats/formats.ts';
import { findPictures, judgePicture, usualPictureLimits } from '../pictures.ts';
import {
  hasRareCharacters,
  judge,
  parseAst,
  renamePictures,
  unwrapCites,
  withMetadata,
  writeAst,
  type Ast,
} from '../syntax/syntax.ts';
import type { CallContext } from '../../threads/threads.ts';
import { policy, type ReadDocument } from './read.ts';

export interface WriteRequest {
  readonly read: Pick<ReadDocument, 'ast' | 'layout' | 'pictures' | 'embedded'>;
  /** The bytes of those pictures that were found, by the names that the document gives them. */
  readonly found: ReadonlyMap<string, Uint8Array>;
  /** Null leaves citations as they are written. */
  readonly references: readonly CslItem[] | null;
  /** CSL; null is Pandoc's own. */
  readonly style: string | null;
  readonly formats: readonly Format[];
  readonly referenceDoc: Uint8Array | null;
}

export interface Failure {
  readonly format: Format;
  readonly code: ErrorCode;
  readonly message: string;
}

export interface WriteResult {
  readonly built: readonly { readonly format: Format; readonly written: Written }[];
  readonly failures: readonly Failure[];
  readonly warnings: readonly string[];
  /** Keys that are cited and that no bibliography has. */
  readonly missing: readonly string[];
}

/** How many of the steps are done, and what comes now. */
export type Step = readonly [done: number, message: string];

/** Cites, then writes every format. One that fails does not take the others along. */
export async function writeDocument(
  engines: Engines,
  request: WriteRequest,
  { signal, report }: CallContext,
): Promise<WriteResult> {
  report([0, 'citing'] satisfies Step);
  const { prepared, warnings, missing } = await prepare(engines, request, signal);
  const built: { format: Format; written: Written }[] = [];
  const failures: Failure[] = [];
  for (const [at, format] of request.formats.entries()) {
    report([at + 1, `writing ${format}`] satisfies Step);
    try {
      built.push({ format, written: await writeFormat(format, prepared, engines, signal) });
    } catch (cause) {
      failures.push(failureOf(format, cause, signal.aborted));
      if (signal.aborted && built.length === 0) throw cause;
    }
  }
  return { built, failures, warnings: [...warnings, ...warningsOf(built)], missing };
}

/** Only whoever set the deadline knows what to say of it. */
function failureOf(format: Format, cause: unknown, isLate: boolean): Failure {
  const error = asWorkcrateError(cause);
  if (error.code === 'stopping') throw error;
  return { format, code: isLate ? 'document_timeout' : error.code, message: publicMessage(error) };
}

async function prepare(engines: Engines, request: WriteRequest, signal: AbortSignal) {
  const { layout } = request.read;
  const pictures = await picturesOf(request, signal);
  const names = new Map(pictures.map(({ name }) => [name.replace(/\.[^.]+$/, ''), name]));
  const named = renamePictures(parseAst(request.read.ast), names);
  const cited = await citeAll(engines, named, request, signal);
  const { ast, warnings } = judge(cited.ast, policy('cited'));
  const final = withMetadata(unwrapCites(ast), layout);
  const prepared: Prepared = {
    ast: writeAst(final),
    layout,
    pictures,
    referenceDoc: request.referenceDoc,
    hasRareCharacters: hasRareCharacters(final),
  };
  return { prepared, warnings: [...cited.warnings, ...warnings], missing: cited.missing };
}

async function picturesOf({ read, found }: WriteRequest, signal: AbortSignal): Promise<Picture[]> {
  const limits = usualPictureLimits;
  const embedded = read.embedded.map(({ as, bytes }) =>
    judgePicture(bytes, { called: 'a picture in the text', as }, limits),
  );
  const among = async (name: string) => found.get(name) ?? null;
  return [
    ...embedded,
    ...(await findPictures(read.pictures, { artifact: among, file: among }, limits, signal)),
  ];
}

async function citeAll(
  { pandoc }: Engines,
  ast: Ast,
  { references, style, read }: WriteRequest,
  signal: AbortSignal,
): Promise<{ ast: Ast; warnings: string[]; missing: string[] }> {
  if (references === null) return { ast, warnings: [], missing: [] };
  const { language }: Layout = read.layout;
  const cited = await cite(pandoc, { ast: writeAst(ast), references, style, language, signal });
  const told = cited.missing.map((key) => `${key} is cited, but is in no bibliography.`);
  return { ast: parseAst(cited.ast), warnings: [...cited.warnings, ...told], missing: cited.missing };
}

/** What several formats say alike is said once. */
function warningsOf(built: WriteResult['built']): string[] {
  const formatsOf = new Map<string, Format[]>();
  for (const { format, written } of built)
    for (const warning of written.warnings)
      formatsOf.set(warning, [...(formatsOf.get(warning) ?? []), format]);
  return [...formatsOf].map(([warning, formats]) => `${formats.join(', ')}: ${warning}`);
}
