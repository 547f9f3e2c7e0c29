/**
 * The tool `build_exports_content`: parses the arguments, has the document built, stores each file and returns its
 * link. How a document is built is in `documents.ts`.
 */
import type { ContentBlock } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { WorkcrateError } from '../../../platform/errors.ts';
import { cleanFilename } from '../../../platform/text/filenames.ts';
import type { Files } from '../../../core/files/files.ts';
import {
  toLinkAnswer,
  linkShape,
  toLinkTermFields,
  type LinkTermBounds,
} from '../../../core/links/link-result.ts';
import type { Links, Webhook } from '../../../core/links/links.ts';
import { hideArguments, listAs } from '../../../core/offer/schema.ts';
import { declareTool, type ToolContext } from '../../../core/offer/tool.ts';
import { bibliographyFormats } from '../citations/bibliography.ts';
import { paperSizes, type DocumentLayout } from '../document.ts';
import {
  documentFormats,
  type DocumentBuildRequest,
  type DocumentBuildResult,
  type DocumentBuilder,
  type GivenBibliography,
} from '../documents.ts';
import { decodeUtf8Text, parseMargin } from '../sanitize/markdown.ts';
import { openUserFiles, checkUserFile, type UserFiles, type UserFilesOptions } from '../user-files.ts';

const maxBuildFormats = documentFormats.length;
const fileNameSchema = z.string().min(1).max(4096);

/** Listed without its form and limits, which the message of an error names. */
const listText = <Schema extends z.ZodType>(schema: Schema, description?: string): Schema =>
  listAs(schema, { type: 'string', ...(description === undefined ? {} : { description }) });

/** Refuses at once what no document can contain. */
const makeLineSchema = (most: number) =>
  z.string().max(most).refine(isPlainLine, 'takes a line of text without control characters');

const isPlainLine = (text: string): boolean => !/[\p{Cc}\p{Cs}\ufffe\uffff]/u.test(text);

/** The text itself, or the name of a file, so that a long text need not pass through the conversation. */
export const textInputFields = {
  documentContent: z.string().optional(),
  documentFile: listText(fileNameSchema, 'Instead: name or file_id of an artifact or file').optional(),
  bibliographyContent: z.string().optional().describe('BibTeX, BibLaTeX, RIS, CSL JSON or YAML'),
  bibliographyFile: listText(fileNameSchema).optional(),
  bibliographyFormat: z.enum(bibliographyFormats).optional(),
};

const basenameMessage = 'outputBasename takes a plain name without /, \\ and a leading dot, such as report';

const buildInputFields = {
  ...textInputFields,
  documentContent: textInputFields.documentContent.describe(
    'Pandoc Markdown; front matter: title, author, date, lang, toc, number-sections, papersize, margin, fontsize',
  ),
  formats: listAs(z.array(z.enum(documentFormats)).min(1).max(maxBuildFormats), {
    type: 'array',
    items: { type: 'string', enum: documentFormats },
  }),
  outputBasename: listText(
    z.string().min(1).max(100).refine(isPlainBasename, basenameMessage).default('document'),
    'File name without extension',
  ),
  cslContent: z.string().optional().describe('A style as CSL XML'),
  style: listText(
    z.string().max(100),
    'chicago-author-date (default), apa, ieee, vancouver, harvard, nature, mla',
  ).optional(),
  useCiteproc: z.boolean().default(true),
  title: makeLineSchema(1000).optional(),
  authors: z.array(makeLineSchema(200)).max(100).optional(),
  date: makeLineSchema(100).optional(),
  language: z
    .string()
    .regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/, 'language takes a tag such as en or de-CH')
    .optional(),
  paper: z.enum(paperSizes).optional(),
  margin: z.string().max(20).optional(),
  fontSize: z.number().min(8).max(24).optional(),
  toc: z.boolean().optional(),
  numberSections: z.boolean().optional(),
  referenceDoc: listText(fileNameSchema, 'A DOCX whose styles to use').optional(),
  pdfa: z.boolean().optional(),
};

const buildFieldsSchema = z.object(buildInputFields);
export type BuildToolInput = z.output<typeof buildFieldsSchema>;
const textFieldsSchema = z.object(textInputFields);
export type DocumentTextInput = z.output<typeof textFieldsSchema>;

function isPlainBasename(basename: string): boolean {
  return cleanFilename(basename) === basename && !/[/\\]|^\./.test(basename);
}

/** Only what the caller gave: the rest is left to the front matter. */
function toGivenLayout(input: BuildToolInput): Partial<DocumentLayout> {
  const { title, authors, date, language, paper, toc, numberSections } = input;
  const given: Partial<Record<keyof DocumentLayout, unknown>> = {
    title,
    authors,
    date,
    language,
    paper,
    toc,
    numberSections,
    marginMm: input.margin === undefined ? undefined : parseMargin(input.margin),
    fontSizePt: input.fontSize,
    pdfA: input.pdfa,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

export async function readDocumentText(
  input: DocumentTextInput,
  from: UserFiles,
  most: number,
): Promise<string> {
  const { documentContent: content, documentFile: file } = input;
  const text = await readContentOrFile({ content, file, what: 'document' }, from, most);
  if (text !== null) return text;
  throw new WorkcrateError('invalid_input', 'Give either documentContent or documentFile.');
}

export async function readGivenBibliography(
  input: DocumentTextInput,
  from: UserFiles,
  most: number,
): Promise<GivenBibliography | null> {
  const { bibliographyContent: content, bibliographyFile: file } = input;
  const text = await readContentOrFile({ content, file, what: 'bibliography' }, from, most);
  return text === null ? null : { text, format: input.bibliographyFormat ?? null };
}

interface ContentOrFile {
  readonly content: string | undefined;
  readonly file: string | undefined;
  readonly what: string;
}

async function readContentOrFile(
  { content, file, what }: ContentOrFile,
  from: UserFiles,
  most: number,
): Promise<string | null> {
  if (content !== undefined && file !== undefined)
    throw new WorkcrateError('invalid_input', `Give either ${what}Content or ${what}File, not both.`);
  if (file === undefined) return content ?? null;
  return decodeUtf8Text(await checkUserFile(from, file, most), file);
}

export interface BuildRoom extends UserFilesOptions {
  readonly documents: DocumentBuilder;
  readonly files: Files;
  readonly links: Links;
  /** Called for every document that was built. */
  readonly exported: Webhook['exported'];
  readonly fileTtl: number;
  readonly maxTtl: number;
  readonly baseUrl: () => string;
}

/** Taken, but not listed: front matter says the same, or nearly nobody needs it. `docs/guide/documents.md` has them all. */
const unlistedBuildFields = [
  'bibliographyFormat',
  'useCiteproc',
  'title',
  'authors',
  'date',
  'language',
  'paper',
  'margin',
  'fontSize',
  'toc',
  'numberSections',
] as const;

const makeBuildInput = (terms: LinkTermBounds) =>
  hideArguments(z.strictObject({ ...buildInputFields, ...toLinkTermFields(terms) }), unlistedBuildFields);

type BuildToolCall = z.output<ReturnType<typeof makeBuildInput>>;

/** Enough for a word processor's template with pictures. */
const maxReferenceDocBytes = 20 * 1024 ** 2;

const buildOutputSchema = z.object({
  artifacts: z.array(
    linkShape.extend({
      format: z.enum(documentFormats),
      file_id: z.string().describe('For other tools'),
    }),
  ),
  failures: z
    .array(z.object({ format: z.enum(documentFormats), code: z.string(), message: z.string() }))
    .describe('Formats that could not be built; the others were'),
  warnings: z.array(z.string()),
  missingCitations: z.array(z.string()).describe('Cited keys that are in no bibliography'),
  instructions: z.string(),
});

type BuiltArtifact = z.input<typeof buildOutputSchema>['artifacts'][number];

export function declareBuildTool(terms: LinkTermBounds) {
  return declareTool({
    name: 'build_exports_content',
    group: 'documents',
    title: 'Build a document',
    description:
      'Convert Markdown to PDF, DOCX (Word), HTML, EPUB, slides and more, with maths, tables, citations and a bibliography; answers with a link per format. ![caption](plot.png) is a picture from your artifacts or files, [@key] a citation. Nothing is fetched from the network.',
    searchHint:
      'write a report, paper, document or presentation; export or convert markdown to docx, pdf, html',
    input: makeBuildInput(terms),
    output: buildOutputSchema,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    mayBeTask: true,
    auditFields: { subject: ['documentFile', 'outputBasename'] },
    async handle(room: BuildRoom, input, context) {
      const { documents } = room;
      const pictures = openUserFiles(room, context);
      const request = await toDocumentBuildRequest(input, pictures, documents.mostBytes);
      const result = await documents.build(context.caller, request, {
        signal: context.signal,
        pictures,
        progress: context.progress,
      });
      if (result.built.length === 0) throw allFormatsFailedError(result);
      const handed: SharedExport[] = [];
      for (const one of result.built) handed.push(await shareExport(room, one, input, context));
      return toBuildAnswer(handed, result);
    },
  });
}

async function toDocumentBuildRequest(
  input: BuildToolInput,
  from: ReturnType<typeof openUserFiles>,
  most: number,
): Promise<DocumentBuildRequest> {
  const { referenceDoc, style, cslContent } = input;
  return {
    text: await readDocumentText(input, from, most),
    formats: [...new Set(input.formats)],
    layout: toGivenLayout(input),
    bibliography: await readGivenBibliography(input, from, most),
    style: { name: style ?? null, content: cslContent ?? null },
    cites: input.useCiteproc,
    referenceDoc:
      referenceDoc === undefined ? null : await checkUserFile(from, referenceDoc, maxReferenceDocBytes),
  };
}

/** The first failure represents all. */
function allFormatsFailedError({ failures: [first] }: DocumentBuildResult): WorkcrateError {
  const { format, code, message } = first!;
  return new WorkcrateError(code, `${format} could not be built: ${message}`);
}

interface SharedExport {
  readonly artifact: BuiltArtifact;
  readonly line: string;
  readonly content: readonly ContentBlock[];
}

async function shareExport(
  { files, links, exported, baseUrl }: BuildRoom,
  { format, written }: DocumentBuildResult['built'][number],
  { outputBasename, ttl_seconds: ttlSeconds, single_use: singleUse }: BuildToolCall,
  { caller, signal }: ToolContext,
): Promise<SharedExport> {
  const { bytes, extension, mediaType } = written;
  const file = {
    name: `${outputBasename}${extension}`,
    mediaType,
    origin: 'document',
    keepSeconds: ttlSeconds,
  };
  const { id } = await files.add(caller, file, toSingleChunk(bytes), signal);
  const shared = await links.share(caller, id, { ttlSeconds, singleUse });
  await exported(format, shared);
  const link = toLinkAnswer(shared, baseUrl());
  return {
    artifact: { format, file_id: id, ...link.structured },
    line: `${format} (${id}): ${link.text}`,
    content: link.content ?? [],
  };
}

async function* toSingleChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const maxWarningsInText = 20;

function toBuildAnswer(handed: readonly SharedExport[], result: DocumentBuildResult) {
  const failures = [...result.failures];
  const warnings = [...result.warnings];
  const { missing } = result;
  const more = warnings.length - maxWarningsInText;
  const lines = [
    ...handed.map(({ line }) => line),
    ...failures.map(({ format, message }) => `${format} could not be built: ${message}`),
    ...warnings.slice(0, maxWarningsInText).map((warning) => `Warning: ${warning}`),
    ...(more > 0 ? [`and ${more} more warnings`] : []),
  ];
  return {
    text: lines.join('\n'),
    structured: {
      artifacts: handed.map(({ artifact }) => artifact),
      failures,
      warnings,
      missingCitations: [...missing],
      instructions: buildLinkInstructions(handed.length),
    },
    content: handed.flatMap(({ content }) => content),
  };
}

function buildLinkInstructions(count: number): string {
  const them = count === 1 ? 'the file' : 'each file';
  return `Give the person the downloadUrl of ${them}, or fetch it with curl -fsSL -OJ URL. The bytes do not pass through this conversation; after expiresAt the link no longer works.`;
}
