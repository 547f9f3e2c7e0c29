/**
 * The door of this room: what a file looks like, as HTML. Pictures, sound, film, PDF and HTML are left to the browser, by a
 * URL that its caller answers; text, tables, Markdown and notebooks are rendered here, from the beginning of the file.
 */
import { extname } from 'node:path';
import { html, nothing, raw, type Html } from '../html/html.ts';
import type { Log } from '../observability/log.ts';
import { formatBytes } from '../text/text.ts';
import { createThread } from '../workers/workers.ts';
import { countPixels } from './picture-size.ts';
import type { RenderingJob, RenderingMethods } from './rendering-thread.ts';

/** A file to be shown. */
export interface PreviewFile {
  readonly filename: string;
  readonly mediaType: string;
  readonly size: number;
  /** Where a browser gets the bytes to show them itself; `isFramed` and the headers that it needs are in `core/links/`. */
  readonly url: string;
  /** The first bytes of it, at most so many. */
  readStart(most: number): Promise<Buffer>;
}

export interface Previews extends AsyncDisposable {
  /** The preview, or a sentence that says why there is none. Rejects only where the bytes cannot be read. */
  render(file: PreviewFile): Promise<Html>;
}

const maxShownPixels = 50_000_000;
const maxPreviewPicture = 32 * 1024 ** 2;
const maxFramedBytes = 64 * 1024 ** 2;
const maxPreviewText = 128 * 1024;
const maxMarkdownBytes = 64 * 1024;
const maxPreviewedNotebookBytes = 8 * 1024 ** 2;
/** Enough for the header of a picture behind a profile or a thumbnail. */
const headBytes = 256 * 1024;
const renderMs = 2000;

export function createPreviews({ log }: { readonly log: Log }): Previews {
  const file = new URL(`./rendering-thread${extname(import.meta.filename)}`, import.meta.url);
  const thread = createThread<RenderingMethods>(file, null, log);

  /** Null where it cannot be parsed, or not in time: then it is shown as text. */
  async function renderInThread(job: RenderingJob): Promise<Html | null> {
    const timer = setTimeout(() => thread.kill(new Error('A preview took too long.')), renderMs);
    try {
      return raw(await thread.call('render', job));
    } catch (error) {
      log.debug('preview.failed', { kind: job.kind, error });
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  async function renderText(shown: PreviewFile, kind: TextKind): Promise<Html> {
    const most = textBytes[kind];
    const start = await shown.readStart(most);
    const text = decodeStart(start);
    if (text === null) return renderRemark('There is no preview of this kind of file.');
    const isCut = shown.size > start.length;
    const canRender = kind === 'table' || (kind !== 'text' && !isCut);
    const rendered = canRender ? await renderInThread({ kind, text, isCut }) : null;
    return rendered ?? renderPlainText(text.slice(0, maxPreviewText), isCut || text.length > maxPreviewText);
  }

  return {
    async render(shown) {
      if (shown.size === 0) return renderRemark('This file is empty.');
      const kind = findPreviewKind(shown);
      switch (kind) {
        case 'picture':
          return embedPicture(shown);
        case 'audio':
          return html`<figure><audio controls preload="metadata" src="${shown.url}"></audio></figure>`;
        case 'video':
          return html`<figure><video controls preload="metadata" src="${shown.url}"></video></figure>`;
        case 'pdf':
        case 'page':
          return renderFrame(shown, kind);
        case null:
          return renderRemark('There is no preview of this kind of file.');
        default:
          return renderText(shown, kind);
      }
    },
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
}

type TextKind = 'text' | RenderingJob['kind'];
type Kind = TextKind | 'picture' | 'audio' | 'video' | 'pdf' | 'page';

const textBytes: Readonly<Record<TextKind, number>> = {
  text: maxPreviewText,
  table: maxPreviewText,
  markdown: maxMarkdownBytes,
  notebook: maxPreviewedNotebookBytes,
};

const kindsByEnding: Readonly<Record<string, Kind>> = {
  '.csv': 'table',
  '.tsv': 'table',
  '.md': 'markdown',
  '.markdown': 'markdown',
  '.ipynb': 'notebook',
};

const textTypes =
  /^(?:text\/|application\/(?:json|jsonl|x-ndjson|ld\+json|yaml|x-yaml|toml|sql|javascript|x-sh|x-python|x-tex|xml)\b|[a-z]+\/[a-z0-9.-]+\+(?:json|xml)\b)/i;

/** By the ending where it says more than the type, which is then `text/plain` for many. */
function findPreviewKind({ filename, mediaType }: PreviewFile): Kind | null {
  const [type = ''] = mediaType.toLowerCase().split(';', 1);
  const byEnding = kindsByEnding[extname(filename).toLowerCase()];
  if (byEnding !== undefined && !/^(?:image|audio|video)\//.test(type)) return byEnding;
  if (/^image\/(?:png|jpeg|gif|webp|avif|bmp|svg\+xml)$/.test(type)) return 'picture';
  if (type.startsWith('audio/')) return 'audio';
  if (type.startsWith('video/')) return 'video';
  if (type === 'application/pdf') return 'pdf';
  if (type === 'text/html' || type === 'application/xhtml+xml') return 'page';
  if (type === 'text/csv' || type === 'text/tab-separated-values') return 'table';
  if (type === 'text/markdown') return 'markdown';
  if (type === 'application/x-ipynb+json') return 'notebook';
  // Many a type is not known by its name; whether it is text is seen by its bytes.
  return textTypes.test(type) || type === 'application/octet-stream' ? 'text' : null;
}

async function embedPicture({ filename, size, url, mediaType, readStart }: PreviewFile): Promise<Html> {
  if (size > maxPreviewPicture) return renderRemark(`A picture of ${formatBytes(size)} is not shown here.`);
  const pixels = countPixels(await readStart(Math.min(size, headBytes)));
  if (pixels !== null && pixels > maxShownPixels)
    return renderRemark(`A picture of ${Math.round(pixels / 1e6)} megapixels is not shown here.`);
  const isKnown = /^image\/(?:png|jpeg|gif|webp)$/i.test(mediaType);
  if (pixels === null && isKnown) return renderRemark('The bytes of this file are not those of a picture.');
  return html`<figure class="picture"><img src="${url}" alt="${filename}" /></figure>`;
}

/** Without a sandbox, browsers show no PDF; a PDF runs no script of this origin. */
async function renderFrame(
  { filename, size, url, readStart }: PreviewFile,
  kind: 'pdf' | 'page',
): Promise<Html> {
  if (size > maxFramedBytes) return renderRemark(`A file of ${formatBytes(size)} is not shown here.`);
  if (kind === 'page')
    return html`<iframe sandbox="" src="${url}" title="${filename}" referrerpolicy="no-referrer"></iframe>`;
  const start = await readStart(1024);
  if (!start.includes('%PDF-')) return renderRemark('The bytes of this file are not those of a PDF.');
  return html`<iframe src="${url}" title="${filename}" referrerpolicy="no-referrer"></iframe>`;
}

/** Text as UTF-8; null where it is not text. The last character may be cut. */
function decodeStart(start: Buffer): string | null {
  if (start.includes(0)) return null;
  const text = new TextDecoder().decode(start);
  const unknown = text.match(/\ufffd/g)?.length ?? 0;
  return unknown > text.length / 20 + 1 ? null : text;
}

const renderPlainText = (text: string, isCut: boolean): Html =>
  html`<figure>
    <pre tabindex="0">${text}</pre>
    ${isCut ? html`<figcaption>The beginning. Download the file for all of it.</figcaption>` : nothing}
  </figure>`;

const renderRemark = (words: string): Html => html`<p class="muted">${words}</p>`;
