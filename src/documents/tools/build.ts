import type { ContentBlock } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { WorkcrateError } from '../../errors.ts';
import { cleanFilename } from '../../filenames.ts';
import type { Files } from '../../files/files.ts';
import { linkAnswer, linkShape, linkTerms } from '../../links/link-result.ts';
import type { Links, Webhook } from '../../links/links.ts';
import { defineTool, type Tool, type ToolContext } from '../../mcp/tool.ts';
import { bibliographyFormats } from '../citations/bibliography.ts';
import { papers, type Layout } from '../document.ts';
import {
  formats,
  type BuildRequest,
  type BuildResult,
  type Documents,
  type GivenBibliography,
} from '../documents.ts';
import { decodeText, parseMargin } from '../sanitize/markdown.ts';
import { belongingsOf, demandBelonging, type Belongings, type BelongingsOptions } from '../user-files.ts';

const mostFormats = formats.length;
const name = z.string().min(1).max(4096);

/** What no document can hold is refused before anything is done. */
const line = (most: number) =>
  z.string().max(most).refine(isLine, 'takes a line of text without control characters');

const isLine = (text: string): boolean => !/[\p{Cc}\p{Cs}\ufffe\uffff]/u.test(text);

/** The text, either itself or by the name of a file: what is long need not pass through the conversation. */
export const textInput = {
  documentContent: z
    .string()
    .optional()
    .describe('The document in Pandoc’s Markdown, with YAML front matter if you like'),
  documentFile: name
    .optional()
    .describe('In place of documentContent: an artifact or a file, by name or file_id'),
  bibliographyContent: z
    .string()
    .optional()
    .describe('References as BibTeX, BibLaTeX, RIS, CSL JSON or CSL YAML'),
  bibliographyFile: name.optional().describe('In place of bibliographyContent: an artifact or a file'),
  bibliographyFormat: z.enum(bibliographyFormats).optional().describe('Found out from the text unless given'),
};

const buildInput = {
  ...textInput,
  formats: z
    .array(z.enum(formats))
    .min(1)
    .max(mostFormats)
    .describe('What to build; html is one file with everything in it'),
  outputBasename: z
    .string()
    .min(1)
    .max(100)
    .refine(isPlainName, 'outputBasename takes a plain name without /, \\ and a leading dot, such as report')
    .default('document')
    .describe('Name of the files, without extension'),
  cslContent: z.string().optional().describe('A citation style, as the XML of a .csl file'),
  style: z
    .string()
    .max(100)
    .optional()
    .describe(
      'A citation style by name: chicago-author-date (default), apa, ieee, vancouver, harvard, nature, mla',
    ),
  useCiteproc: z.boolean().default(true).describe('False leaves citations as they are written'),
  title: line(1000).optional(),
  authors: z.array(line(200)).max(100).optional(),
  date: line(100).optional().describe('As it is to be printed'),
  language: z
    .string()
    .regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/, 'language takes a tag such as en or de-CH')
    .optional()
    .describe('Tag such as en or de-CH'),
  paper: z.enum(papers).optional(),
  margin: z.string().max(20).optional().describe('On all sides, such as 25mm, 2.5cm or 1in'),
  fontSize: z.number().min(8).max(24).optional().describe('In points'),
  toc: z.boolean().optional().describe('With a table of contents'),
  numberSections: z.boolean().optional(),
  referenceDoc: name.optional().describe('docx: an artifact or a file, a DOCX whose styles are taken over'),
  pdfa: z.boolean().optional().describe('pdf: as PDF/A-2b, for archives'),
};

const buildShape = z.object(buildInput);
export type BuildInput = z.output<typeof buildShape>;
const textShape = z.object(textInput);
export type TextInput = z.output<typeof textShape>;

function isPlainName(basename: string): boolean {
  return cleanFilename(basename) === basename && !/[/\\]|^\./.test(basename);
}

/** Only what was said: the rest is for the front matter. */
function layoutOf(input: BuildInput): Partial<Layout> {
  const { title, authors, date, language, paper, toc, numberSections } = input;
  const given: Partial<Record<keyof Layout, unknown>> = {
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

/** The text of the document. */
export async function documentOf(input: TextInput, from: Belongings, most: number): Promise<string> {
  const { documentContent: content, documentFile: file } = input;
  const text = await oneOf({ content, file, what: 'document' }, from, most);
  if (text !== null) return text;
  throw new WorkcrateError('invalid_input', 'Give documentContent, or documentFile.');
}

export async function bibliographyOf(
  input: TextInput,
  from: Belongings,
  most: number,
): Promise<GivenBibliography | null> {
  const { bibliographyContent: content, bibliographyFile: file } = input;
  const text = await oneOf({ content, file, what: 'bibliography' }, from, most);
  return text === null ? null : { text, format: input.bibliographyFormat ?? null };
}

interface Given {
  readonly content: string | undefined;
  readonly file: string | undefined;
  readonly what: string;
}

async function oneOf({ content, file, what }: Given, from: Belongings, most: number): Promise<string | null> {
  if (content !== undefined && file !== undefined)
    throw new WorkcrateError('invalid_input', `Give either ${what}Content or ${what}File.`);
  if (file === undefined) return content ?? null;
  return decodeText(await demandBelonging(from, file, most), file);
}

export interface BuildToolOptions extends BelongingsOptions {
  readonly documents: Documents;
  readonly files: Files;
  readonly links: Links;
  /** Told of every document that was built. */
  readonly exported: Webhook['exported'];
  readonly fileTtl: number;
  readonly maxTtl: number;
  readonly baseUrl: () => string;
}

const inputOf = (options: BuildToolOptions) => z.strictObject({ ...buildInput, ...linkTerms(options) });

type Input = z.output<ReturnType<typeof inputOf>>;

/** A word processor's template with pictures in it. */
const mostReference = 20 * 1024 ** 2;

const built = z.object({
  artifacts: z.array(
    linkShape.extend({ format: z.enum(formats), file_id: z.string().describe('As other tools take it') }),
  ),
  failures: z
    .array(z.object({ format: z.enum(formats), code: z.string(), message: z.string() }))
    .describe('Formats that could not be built; the others were'),
  warnings: z.array(z.string()),
  missingCitations: z.array(z.string()).describe('Keys that are cited and stand in no bibliography'),
  instructions: z.string(),
});

type Artifact = z.input<typeof built>['artifacts'][number];

export function buildTool(options: BuildToolOptions): Tool {
  return defineTool({
    name: 'build_exports_content',
    group: 'documents',
    title: 'Build a document',
    description:
      'Builds Markdown with citations, maths, tables and pictures into pdf, docx, html, odt, epub, latex, typst, pptx, markdown or plain text, and gives a link for each. Pictures: ![caption](plot.png) names one of your artifacts or files; nothing is fetched from the network. Citations: [@key] with bibliographyContent.',
    input: inputOf(options),
    output: built,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    auditFields: { subject: ['documentFile', 'outputBasename'] },
    async handle(input, context) {
      const { documents } = options;
      const pictures = belongingsOf(options, context);
      const request = await requestOf(input, pictures, documents.mostBytes);
      const result = await documents.build(context.caller, request, {
        signal: context.signal,
        pictures,
        progress: context.progress,
      });
      if (result.built.length === 0) throw allFailed(result);
      const handed: Handed[] = [];
      for (const one of result.built) handed.push(await handOut(options, one, input, context));
      return answerOf(handed, result);
    },
  });
}

async function requestOf(
  input: BuildInput,
  from: ReturnType<typeof belongingsOf>,
  most: number,
): Promise<BuildRequest> {
  const { referenceDoc, style, cslContent } = input;
  return {
    text: await documentOf(input, from, most),
    formats: [...new Set(input.formats)],
    layout: layoutOf(input),
    bibliography: await bibliographyOf(input, from, most),
    style: { name: style ?? null, content: cslContent ?? null },
    cites: input.useCiteproc,
    referenceDoc:
      referenceDoc === undefined ? null : await demandBelonging(from, referenceDoc, mostReference),
  };
}

/** The first speaks for all. */
function allFailed({ failures: [first] }: BuildResult): WorkcrateError {
  const { format, code, message } = first!;
  return new WorkcrateError(code, `${format} could not be built: ${message}`);
}

interface Handed {
  readonly artifact: Artifact;
  readonly line: string;
  readonly content: readonly ContentBlock[];
}

async function handOut(
  { files, links, exported, baseUrl }: BuildToolOptions,
  { format, written }: BuildResult['built'][number],
  { outputBasename, ttl_seconds: ttlSeconds, single_use: singleUse }: Input,
  { caller, signal }: ToolContext,
): Promise<Handed> {
  const { bytes, extension, mediaType } = written;
  const file = {
    name: `${outputBasename}${extension}`,
    mediaType,
    origin: 'document',
    keepSeconds: ttlSeconds,
  };
  const { id } = await files.add(caller, file, oneChunk(bytes), signal);
  const shared = await links.share(caller, id, { ttlSeconds, singleUse });
  await exported(format, shared);
  const link = linkAnswer(shared, baseUrl());
  return {
    artifact: { format, file_id: id, ...link.structured },
    line: `${format}: ${link.text}`,
    content: link.content ?? [],
  };
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const mostWarningsInText = 20;

function answerOf(handed: readonly Handed[], result: BuildResult) {
  const failures = [...result.failures];
  const warnings = [...result.warnings];
  const { missing } = result;
  const lines = [
    ...handed.map(({ line }) => line),
    ...failures.map(({ format, message }) => `${format} could not be built: ${message}`),
    ...warnings.slice(0, mostWarningsInText).map((warning) => `Warning: ${warning}`),
  ];
  return {
    text: lines.join('\n'),
    structured: {
      artifacts: handed.map(({ artifact }) => artifact),
      failures,
      warnings,
      missingCitations: [...missing],
      instructions: instructionsFor(handed.length),
    },
    content: handed.flatMap(({ content }) => content),
  };
}

function instructionsFor(count: number): string {
  const them = count === 1 ? 'the file' : 'each file';
  return `Give the person the downloadUrl of ${them}, or fetch it with curl -fL -OJ URL. The bytes do not pass through this conversation; after expiresAt the link is dead.`;
}
