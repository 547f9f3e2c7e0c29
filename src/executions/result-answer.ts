/**
 * The results of a run in an answer: text for a model, typed values for programs, and pictures for clients that show
 * them. It reads stored files and has links made to them; what a result is, is in `results.ts`.
 */
import type { ContentBlock } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { isWorkcrateError } from '../errors.ts';
import type { Files } from '../files/files.ts';
import type { Caller } from '../identity.ts';
import { linkShape, toLinkAnswer } from '../links/link-result.ts';
import type { Links } from '../links/links.ts';
import type { McpClient } from '../mcp/tool.ts';
import { detectPictureType } from '../pictures.ts';
import { collectBytes } from '../streams.ts';
import { formatBytes } from '../text.ts';
import type { Execution } from './fields.ts';
import {
  isPicture,
  maxResults,
  partShape,
  resultShape,
  showPart,
  type ResultPart,
  type RunResult,
} from './results.ts';

/** As in the record, with a link to what matters most. */
const linkedResultShape = resultShape.extend({
  parts: z.array(partShape.extend({ link: linkShape.nullable() })),
});

export const resultFields = {
  results: z.array(linkedResultShape).describe('Values, displays and figures'),
  more_results: z.number().int().describe('Results that were only counted'),
};

export interface ResultAnswerOptions {
  readonly links: Pick<Links, 'share'>;
  readonly linkSeconds: number;
  readonly baseUrl: () => string;
  /** Where the pictures of results are; without it none are shown. */
  readonly files?: Pick<Files, 'find' | 'open'>;
}

export interface ResultAnswer {
  readonly lines: readonly string[];
  readonly structured: z.input<z.ZodObject<typeof resultFields>>;
  /** Links to resources. */
  readonly content: readonly ContentBlock[];
}

type Linked = ReturnType<typeof toLinkAnswer<string>>;

/** Each value as text, each figure as a line with its link. */
export async function buildResultAnswer(
  options: ResultAnswerOptions,
  caller: Caller,
  { results, moreResults }: Pick<Execution, 'results' | 'moreResults'>,
): Promise<ResultAnswer> {
  const lines: string[] = [];
  const content: ContentBlock[] = [];
  const shown: ResultAnswer['structured']['results'] = [];
  for (const result of results) {
    const links = new Map<ResultPart, Linked>();
    for (const part of listLinkedParts(result)) {
      const link = part.fileId === null ? null : await shareStored(options, caller, part.fileId);
      if (link !== null) links.set(part, link);
      content.push(...(link?.content ?? []));
    }
    lines.push(...toResultLines(result, (part) => links.get(part)?.text ?? null));
    const parts = result.parts.map((part) => ({
      ...showPart(part),
      link: links.get(part)?.structured ?? null,
    }));
    shown.push({ ...result, parts });
  }
  lines.push(...toFurtherLines(moreResults));
  return { lines, structured: { results: shown, more_results: moreResults }, content };
}

/** The same of an earlier run, without links. */
export const toRecordedResultLines = ({ results, moreResults }: Execution): string[] => [
  ...results.flatMap((result) => toResultLines(result, () => null)),
  ...toFurtherLines(moreResults),
];

const toFurtherLines = (more: number): string[] =>
  more === 0 ? [] : [`${more} more results were only counted: ${maxResults} of a run are kept.`];

/** What the text cannot show. Of a table it shows the start, and its HTML shows little more. */
function listLinkedParts({ parts, cut, rows }: RunResult): ResultPart[] {
  return parts.filter((part, index) => (index === 0 && rows === null) || (cut && part.mime === 'text/plain'));
}

const kindLabels = { value: 'Value', display: 'Displayed', figure: 'Figure' };

/** The label, the text, and each part in a line. */
function toResultLines(result: RunResult, findLink: (part: ResultPart) => string | null): string[] {
  const { kind, text, cut, rows, columns, parts } = result;
  const shape = [
    ...(rows === null ? [] : [`${rows} rows`]),
    ...(columns === null ? [] : [`${columns} columns`]),
  ];
  const label = `${[kindLabels[kind], ...shape, ...(cut ? ['cut'] : [])].join(', ')}:`;
  const partLines = parts.map((part) => describePart(part, findLink(part)));
  if (text === '') return [`${label} ${partLines[0] ?? 'nothing that is text'}`, ...partLines.slice(1)];
  return [text.includes('\n') ? `${label}\n${text.replace(/\n$/, '')}` : `${label} ${text}`, ...partLines];
}

function describePart({ mime, size, fileId, problem }: ResultPart, link: string | null): string {
  if (link !== null) return link;
  const what = `${mime}, ${formatBytes(size)}`;
  if (fileId === null) return `${what}, could not be stored: ${problem}`;
  return `${what}: share_file with file_id ${fileId}`;
}

/** Null where the file is gone again. */
async function shareStored(
  { links, linkSeconds: ttlSeconds, baseUrl }: ResultAnswerOptions,
  caller: Caller,
  fileId: string,
): Promise<Linked | null> {
  try {
    return toLinkAnswer(await links.share(caller, fileId, { ttlSeconds, singleUse: false }), baseUrl());
  } catch (error) {
    if (isWorkcrateError(error, 'not_found')) return null;
    throw error;
  }
}

/** Agents whose models were seen to get a picture without asking for it (docs/reference/clients.md); others have `show`. */
const clientsThatShow = ['claude-code', 'codex-mcp-client', 'gemini-cli-mcp-client', 'opencode'];

/** Whether pictures of results are shown, as the caller wishes or its client is known to do. */
export function wantsPictures(show: boolean | undefined, { name }: Pick<McpClient, 'name'>): boolean {
  return show ?? clientsThatShow.some((client) => name?.startsWith(`${client} `));
}

const maxShownPictures = 4;
/** A figure of matplotlib has some 30 KB. */
const maxShownBytes = 200 * 1024;

/** The pictures of results, and a line for what is not shown. */
export async function showResultPictures(
  { files }: Pick<ResultAnswerOptions, 'files'>,
  caller: Caller,
  { results }: Pick<Execution, 'results'>,
): Promise<{ readonly pictures: ContentBlock[]; readonly notes: readonly string[] }> {
  const found = results.flatMap(({ parts }) => parts.find((part) => isPicture(part) && part.fileId) ?? []);
  const small = found.filter(({ size }) => size <= maxShownBytes);
  const pictures: ContentBlock[] = [];
  for (const part of small.slice(0, maxShownPictures)) {
    const picture = files && (await readResultPicture(files, caller, part.fileId!));
    if (picture) pictures.push(picture);
  }
  const large = found.length - small.length;
  const further = Math.max(0, small.length - maxShownPictures);
  return {
    pictures,
    notes: [
      ...(large > 0 ? [`Not shown: ${large} larger than ${formatBytes(maxShownBytes)}.`] : []),
      ...(further > 0 ? [`Not shown: ${further} more; an answer shows ${maxShownPictures}.`] : []),
    ],
  };
}

/** Judged again by its bytes: a picture of a wrong type may cost a whole conversation. */
async function readResultPicture(
  files: Pick<Files, 'find' | 'open'>,
  caller: Caller,
  fileId: string,
): Promise<ContentBlock | null> {
  const file = await files.find(caller, fileId);
  if (file === null || file.size > maxShownBytes) return null;
  await using object = await files.open(file);
  if (object === null) return null;
  const bytes = await collectBytes(object.read(0, object.size), {
    limit: maxShownBytes,
    tooLong: 'truncate',
  });
  const mimeType = detectPictureType(bytes);
  return mimeType === null ? null : { type: 'image', data: bytes.toString('base64'), mimeType };
}
