/**
 * The page that a person sees who opens a link in a browser: what the file is, until when it can be had, a preview, and a
 * button to download it. It is never a use of the link. Who gets it instead of the bytes is decided in `platform/html/response.ts`.
 */
import type { ServerResponse } from 'node:http';
import { html, nothing, renderPage, renderTime, type Html } from '../../platform/html/html.ts';
import { sendPage, createPolicy, storedPagePolicy } from '../../platform/html/response.ts';
import type { Previews, PreviewFile } from '../../platform/previews/previews.ts';
import { collectBytes } from '../../platform/streams.ts';
import { formatBytes } from '../../platform/text/text.ts';
import { readSegments, type Download } from './download.ts';
import type { Link } from './link.ts';

/** The queries of a link: bytes for whoever presses the button, and bytes that the page itself shows. */
const downloadQuery = '?download=1';
export const previewQuery = '?preview=1';

const linkPagePolicy = createPolicy({ shows: true });

export async function answerLinkPage(
  res: ServerResponse,
  { link, download, previews }: { link: Link; download: Download; previews: Previews },
): Promise<void> {
  // Missing bytes are told before anything is promised.
  await download.demandStored?.();
  const preview = link.singleUse ? null : await previews.render(toShownFile(download, previewQuery));
  const page = await renderPage({ title: download.filename, body: renderLinkCard(link, download, preview) });
  sendPage(res, 200, page, linkPagePolicy);
}

/** For a preview of it; `url` answers with the headers below. */
export const toShownFile = (download: Download, url: string): PreviewFile => ({
  filename: download.filename,
  mediaType: download.mediaType,
  size: download.size,
  url,
  readStart: (most) => readDownloadStart(download, Math.min(most, download.size)),
});

async function readDownloadStart(download: Download, length: number): Promise<Buffer> {
  const opened = await download.open();
  try {
    return await collectBytes(readSegments(opened.segments(0, length)));
  } finally {
    await opened.close();
  }
}

function renderLinkCard(link: Link, download: Download, preview: Html | null): Html {
  return html`<section class="card">
      <h1>${download.filename}</h1>
      <p class="facts">
        <span>${describeMediaType(download.mediaType)}</span>
        <span>${formatBytes(download.size)}</span>
        <span>until ${renderTime(link.expiresAt)}</span>
      </p>
      ${
        link.singleUse
          ? html`<p class="note">
              This link works once: the download uses it up. So there is no preview, and looking at this page
              changes nothing.
            </p>`
          : nothing
      }
      <div class="actions"><a class="button" href="${downloadQuery}" download>Download</a></div>
      <dl>
        <dt>Size</dt>
        <dd>${download.size.toLocaleString('en-GB')} bytes</dd>
        ${
          download.sha256 === null
            ? nothing
            : html`<dt>SHA-256</dt>
                <dd><code>${download.sha256}</code></dd>`
        }
        <dt>Type</dt>
        <dd>${download.mediaType}</dd>
      </dl>
    </section>
    ${
      preview === null
        ? nothing
        : html`<section class="preview" aria-labelledby="preview">
            <h2 id="preview">Preview</h2>
            ${preview}
          </section>`
    }`;
}

/** In a word or two; the type itself is among the details. */
export function describeMediaType(mediaType: string): string {
  const [type = ''] = mediaType.split(';', 1);
  const [family = '', kind = ''] = type.split('/');
  const named = knownTypes[type];
  if (named !== undefined) return named;
  const words = { image: 'picture', audio: 'sound', video: 'film', text: 'text' }[family];
  const short = kind
    .replace(/^(?:x-|vnd\.)/, '')
    .split(/[+.]/)
    .at(-1)!
    .toUpperCase();
  return words === undefined ? 'File' : `${short.slice(0, 12)} ${words}`;
}

const knownTypes: Readonly<Record<string, string>> = {
  'application/pdf': 'PDF',
  'application/zip': 'ZIP archive',
  'application/json': 'JSON',
  'application/ld+json': 'JSON-LD',
  'application/x-ipynb+json': 'Notebook',
  'image/svg+xml': 'SVG picture',
  'text/csv': 'Table (CSV)',
  'text/html': 'Web page',
  'text/markdown': 'Markdown',
  'text/plain': 'Text',
};

/**
 * The headers of bytes that the page shows by itself. HTML and SVG run in no origin and without scripts, wherever they
 * are opened; nobody else may frame them.
 */
export function toPreviewHeaders(headers: Readonly<Record<string, string | number>>, download: Download) {
  const [type = ''] = download.mediaType.toLowerCase().split(';', 1);
  const isActive = /^(?:text\/html|application\/xhtml\+xml|image\/svg\+xml)$/.test(type);
  const isShown = isActive || type === 'application/pdf' || /^(?:image|audio|video)\//.test(type);
  if (!isShown) return headers;
  const { 'Content-Disposition': disposition, ...others } = headers;
  return {
    ...others,
    'Content-Disposition': String(disposition).replace(/^attachment/, 'inline'),
    'Content-Security-Policy': isActive ? storedPagePolicy : "frame-ancestors 'self'",
    'Cross-Origin-Resource-Policy': 'same-origin',
    'X-Frame-Options': 'SAMEORIGIN',
  };
}
