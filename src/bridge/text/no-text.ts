import { decode } from './decode.ts';

const sniffedBytes = 64 * 1024;
/** A document of nothing but plain characters at times, and no text for all that. */
const pdf = Buffer.from('%PDF-');

/**
 * Whether bytes look like no text in any encoding: a picture, an archive, a program. To be asked where nobody named an
 * encoding, since in windows-1252 every byte means something. Whoever begins with a byte order mark means text.
 */
export function looksLikeNoText(bytes: Uint8Array): boolean {
  const start = bytes.subarray(0, sniffedBytes);
  if (pdf.equals(start.subarray(0, pdf.length))) return true;
  const { text, encoding, bom } = decode(start, null);
  if (bom) return false;
  // Bytes of all kinds are hardly ever valid UTF-8, and some tables part their fields by control characters.
  const most = encoding === 'utf-8' ? text.length / 3 : text.length / 50;
  return text.includes('\0') || countControls(text) > most;
}

/** But for those that texts and terminals use: bell, backspace, tab, line breaks, the escape of colours, an end of DOS. */
// oxlint-disable-next-line no-control-regex -- it is about these
const countControls = (text: string): number => text.match(/[\x01-\x06\x0e-\x19\x1c-\x1f]/g)?.length ?? 0;
