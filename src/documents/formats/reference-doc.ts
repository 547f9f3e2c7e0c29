import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import { directoryOf } from './archive.ts';

const MOST_UNPACKED = 100 * 1024 * 1024;

/** Refuses what is no DOCX before Pandoc fails on it with words that help nobody. */
export async function demandReferenceDoc(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  const directory = await directoryOf(bytes, signal).catch((cause: unknown) => {
    if (isWorkcrateError(cause)) throw refused('it is no ZIP that can be read', cause);
    throw cause;
  });
  for (const part of ['word/document.xml', 'word/styles.xml'])
    if (directory.find(part) === null) throw refused(`it has no ${part}`);
  const unpacked = [...directory].reduce((sum, { size }) => sum + size, 0);
  if (unpacked > MOST_UNPACKED)
    throw refused(`it unpacks to ${unpacked} bytes, and ${MOST_UNPACKED} are taken`);
}

function refused(why: string, cause?: unknown): WorkcrateError {
  return new WorkcrateError(
    'document_invalid',
    `The reference document is not a DOCX: ${why}. Give one that Word or LibreOffice has saved as .docx.`,
    { cause },
  );
}
