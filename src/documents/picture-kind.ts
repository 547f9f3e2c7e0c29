/** What a picture is, by its bytes: its name may say anything. */
export interface PictureKind {
  readonly extension: 'png' | 'jpg' | 'gif' | 'webp' | 'svg';
  readonly mediaType: string;
}

const png = { extension: 'png', mediaType: 'image/png' } as const;
const jpg = { extension: 'jpg', mediaType: 'image/jpeg' } as const;
const gif = { extension: 'gif', mediaType: 'image/gif' } as const;
const webp = { extension: 'webp', mediaType: 'image/webp' } as const;
const svg = { extension: 'svg', mediaType: 'image/svg+xml' } as const;

/** As far as the root element of an SVG is looked for: comments and a DOCTYPE may stand before it. */
const SVG_START = 4096;

export function pictureKind(bytes: Uint8Array): PictureKind | null {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, SVG_START));
  const text = start.toString('latin1');
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return png;
  if (text.startsWith('\xff\xd8\xff')) return jpg;
  if (text.startsWith('GIF87a') || text.startsWith('GIF89a')) return gif;
  if (text.startsWith('RIFF') && text.startsWith('WEBP', 8)) return webp;
  return isSvg(text) ? svg : null;
}

/** XML in UTF-8 whose first element is `svg`. */
function isSvg(start: string): boolean {
  const text = start.replace(/^\xef\xbb\xbf/, '').trimStart();
  if (!text.startsWith('<')) return false;
  const root = /<([a-zA-Z][^\s/>]*)/.exec(text.replaceAll(/<!--[\s\S]*?-->/g, ''));
  return root !== null && /^(?:[\w.-]+:)?svg$/.test(root[1] ?? '');
}
