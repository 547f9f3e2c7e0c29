/**
 * What a view shows of a file: rows of a table, a picture, or the beginning of a text. All of it is for the person who
 * looks at the view; the text of the answer, which a model may read, has no byte of the file.
 */
import { extname } from 'node:path';
import { z } from 'zod';
import { listAs, makeText, makeWholeNumber } from '../../core/offer/schema.ts';
import type { ToolAnswer } from '../../core/offer/tool.ts';
import { detectPictureType } from '../../platform/pictures.ts';
import { countPixels } from '../../platform/previews/picture-size.ts';
import { formatBytes, quoteName } from '../../platform/text/text.ts';
import type { TableReader } from './table-reader.ts';

const maxViewedTableBytes = 4 * 1024 ** 2;
const maxPictureView = 2 * 1024 ** 2;
const maxViewedPixels = 50_000_000;
const maxViewedTextBytes = 64 * 1024;
const maxRowsOnPage = 200;
const maxOffset = 1_000_000;

/** Which rows of a table are wanted; what is no table ignores it. */
export const rowsInput = {
  offset: makeWholeNumber(0, maxOffset, 'The first row').optional(),
  limit: makeWholeNumber(1, maxRowsOnPage, `At most ${maxRowsOnPage}`).optional(),
  sort: makeWholeNumber(0, 10_000, 'A column by its position').optional(),
  descending: listAs(z.boolean(), { type: 'boolean' }).optional(),
  filter: makeText(200).optional(),
};

type RowsInput = z.output<z.ZodObject<typeof rowsInput>>;

const usualRows = 50;

export const shownFileShape = z.object({
  filename: z.string(),
  size: z.number(),
  media_type: z.string(),
  kind: z.enum(['table', 'picture', 'text', 'none']),
  note: z.string().nullable().describe('Why there is nothing to see, or not all'),
  table: z
    .object({
      columns: z.array(z.string()),
      rows: z.array(z.array(z.string())),
      offset: z.number(),
      total: z.number(),
      matching: z.number(),
      width: z.number(),
      cut: z.boolean(),
    })
    .nullable(),
  picture: z.string().nullable().describe('As a data URI'),
  text: z.string().nullable(),
});

type ShownFile = z.input<typeof shownFileShape>;

/** A file to be shown, wherever it is. */
export interface ReadableFile {
  readonly filename: string;
  readonly size: number;
  readonly mediaType: string;
  /** The first bytes of it, at most so many. */
  readStart(most: number): Promise<Buffer>;
}

type Viewed = Pick<ShownFile, 'kind'> & Partial<ShownFile>;

export async function showFile(
  file: ReadableFile,
  wanted: RowsInput,
  tables: TableReader,
): Promise<ToolAnswer<ShownFile>> {
  const { filename, size, mediaType } = file;
  const shown = await lookInto(file, wanted, tables);
  const nothing = { note: null, table: null, picture: null, text: null };
  return {
    text: `${quoteName(filename)}, ${formatBytes(size)}, ${mediaType}, is shown to the person who looks at the view.`,
    structured: { filename, size, media_type: mediaType, ...nothing, ...shown },
  };
}

async function lookInto(file: ReadableFile, wanted: RowsInput, tables: TableReader): Promise<Viewed> {
  const { size, readStart } = file;
  if (size === 0) return toNote('This file is empty.');
  if (isTable(file)) return (await showTable(file, wanted, tables)) ?? showText(file);
  const start = await readStart(16);
  const type = detectPictureType(start) ?? (isSvgFile(file) ? 'image/svg+xml' : null);
  return type === null ? showText(file) : showPicture(file, type);
}

const toNote = (note: string): Viewed => ({ kind: 'none', note });

const isTable = ({ filename, mediaType }: ReadableFile): boolean =>
  /^\.(?:csv|tsv|tab)$/i.test(extname(filename)) || /^text\/(?:csv|tab-separated-values)\b/.test(mediaType);

const isSvgFile = ({ filename, mediaType }: ReadableFile): boolean =>
  extname(filename).toLowerCase() === '.svg' || mediaType.startsWith('image/svg+xml');

/** Null where it is no text. */
async function showTable(file: ReadableFile, wanted: RowsInput, tables: TableReader): Promise<Viewed | null> {
  const start = await file.readStart(maxViewedTableBytes);
  if (start.includes(0)) return null;
  const { offset = 0, limit = usualRows, sort = null, descending = false, filter = '' } = wanted;
  const page = await tables.readPage({
    text: new TextDecoder().decode(start),
    isCut: file.size > start.length,
    offset,
    limit,
    sort,
    descending,
    filter,
  });
  if (page === null) return null;
  const { columns, rows, isCut: cut, ...counts } = page;
  const table = { columns: [...columns], rows: rows.map((row) => [...row]), offset, cut, ...counts };
  return { kind: 'table', table, note: describeShownPart(table) };
}

function describeShownPart({ total, cut, columns, width }: NonNullable<ShownFile['table']>): string | null {
  const parts = [
    ...(cut ? [`the first ${total} rows`] : []),
    ...(width > columns.length ? [`the first ${columns.length} of ${width} columns`] : []),
  ];
  return parts.length === 0
    ? null
    : `The table is large. Here are ${parts.join(' and ')}; the file has all of it.`;
}

/** A browser shows an SVG in an `img` without running anything of it. */
async function showPicture({ size, readStart }: ReadableFile, type: string): Promise<Viewed> {
  if (size > maxPictureView) return toNote(`A picture of ${formatBytes(size)} is not shown here. Open it.`);
  const bytes = await readStart(maxPictureView);
  const pixels = type === 'image/svg+xml' ? null : countPixels(bytes);
  if (pixels !== null && pixels > maxViewedPixels)
    return toNote(`A picture of ${Math.round(pixels / 1e6)} megapixels is not shown here.`);
  return { kind: 'picture', picture: `data:${type};base64,${bytes.toString('base64')}` };
}

async function showText({ size, readStart }: ReadableFile): Promise<Viewed> {
  const start = await readStart(maxViewedTextBytes);
  const text = start.includes(0) ? null : new TextDecoder().decode(start);
  const unknown = text?.match(/\ufffd/g)?.length ?? 0;
  if (text === null || unknown > text.length / 20 + 1)
    return toNote('This kind of file is not shown here. Open it.');
  const note = size > start.length ? 'This is the beginning; the file has all of it.' : null;
  return { kind: 'text', text, note };
}
