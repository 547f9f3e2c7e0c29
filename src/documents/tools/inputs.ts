import { z } from 'zod';
import { WorkcrateError } from '../../errors.ts';
import { cleanFilename } from '../../filenames.ts';
import { demandBelonging, type Belongings } from '../belongings.ts';
import { bibliographyFormats } from '../citations/bibliography.ts';
import type { GivenBibliography } from '../documents.ts';
import { formats, papers, type Layout } from '../document.ts';
import { decodeText, parseMargin } from '../syntax/syntax.ts';

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

export const buildInput = {
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
export function layoutOf(input: BuildInput): Partial<Layout> {
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
