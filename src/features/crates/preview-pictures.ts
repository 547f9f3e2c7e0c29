/**
 * Puts the pictures of a crate into its preview page, since that page is shown where it may fetch nothing. It makes nothing
 * safe: whoever shows the page has to forbid it to run and to fetch.
 */
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import { guessMediaType } from '../../core/files/files.ts';
import { collectBytes } from '../../platform/streams.ts';
import { entityIdToPath } from './metadata/metadata.ts';

type ReadFile = (path: string) => AsyncIterable<Uint8Array>;

const maxPictures = 20;
const maxPictureBytes = 2 * 1024 ** 2;
const maxTagLength = 2000;
/** What a picture that is not shown has in place of its address: a browser fetches nothing for it. */
const noPicture = 'data:,';

/** Pages that are not UTF-8 come out as browsers would read them, since they are served as UTF-8. */
export async function inlinePictures(page: Buffer, read: ReadFile): Promise<Buffer> {
  const text = page.toString('utf8');
  const parts: string[] = [];
  let [at, left] = [0, maxPictures];
  for (const { start, end, source } of findPlaces(text)) {
    parts.push(text.slice(at, start), source === null ? '' : await readPicture(source, read, left--));
    at = end;
  }
  return Buffer.from(parts.join('') + text.slice(at));
}

/** A place in a page: the address of a picture, or what is left out. */
interface PageRange {
  readonly start: number;
  readonly end: number;
  readonly source: string | null;
}

/** One pass from tag to tag: no page makes this take longer than its length. */
function* findPlaces(text: string): Generator<PageRange> {
  const tags = /<(?:img|meta)\b/gi;
  for (let found = tags.exec(text); found !== null; found = tags.exec(text)) {
    const [start, close] = [found.index, text.indexOf('>', found.index)];
    if (close === -1) return;
    tags.lastIndex = close;
    if (close - start > maxTagLength) continue;
    const tag = text.slice(start, close);
    const place = /^<img/i.test(tag) ? findSource(tag, start) : null;
    if (place !== null) yield place;
    // The page's own policy allows files beside it, not those within it. Whoever shows it has a stricter one.
    else if (/^<meta\b[^]*\bcontent-security-policy\b/i.test(tag))
      yield { start, end: close + 1, source: null };
  }
}

function findSource(tag: string, offset: number): PageRange | null {
  const found = /\ssrc\s*=\s*(?:"([^"]*)"|'([^']*)')/di.exec(tag);
  const range = found?.indices?.[1] ?? found?.indices?.[2];
  if (range === undefined) return null;
  return { start: offset + range[0], end: offset + range[1], source: tag.slice(...range) };
}

async function readPicture(source: string, read: ReadFile, left: number): Promise<string> {
  if (/^\s*data:/i.test(source)) return source;
  const path = entityIdToPath(source.replaceAll('&amp;', '&'));
  const type = path === null ? '' : guessMediaType(path);
  const isPicture = /^image\/(?:png|jpeg|gif|webp|svg\+xml)$/.test(type);
  if (path === null || !isPicture || left <= 0) return noPicture;
  try {
    const bytes = await collectBytes(read(path), { limit: maxPictureBytes, tooLong: () => tooLarge });
    return `data:${type};base64,${bytes.toString('base64')}`;
  } catch (error) {
    if (isWorkcrateError(error, 'not_found') || error === tooLarge) return noPicture;
    throw error;
  }
}

const tooLarge = new WorkcrateError('too_large', 'The picture is too large to be shown in the page.');
