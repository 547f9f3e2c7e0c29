/**
 * Reads the files of a form as a browser without scripts sends them (multipart/form-data, RFC 7578): one after another
 * while they come, so that their size costs no memory. It stores nothing.
 */
import { WorkcrateError } from '../../platform/errors.ts';

/** A file of a form. Its bytes have to be read before the next file is asked for; what is left of them is skipped. */
export interface FormFile {
  readonly filename: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** The mark between the parts, or null where it is no such form. A boundary has at most 70 characters. */
export function readBoundary(contentType: string | undefined): string | null {
  const form = /^multipart\/form-data\s*;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*$/i;
  const [, quoted, plain] = form.exec(contentType ?? '') ?? [];
  return quoted ?? plain ?? null;
}

const maxPartHeadBytes = 16 * 1024;
const maxFormParts = 1000;

/** Fields that are no files, and files that nobody chose, are left out. */
export async function* readFormFiles(
  bytes: AsyncIterable<Uint8Array>,
  boundary: string,
): AsyncGenerator<FormFile, void> {
  const reader = new PartReader(bytes);
  await skip(reader.readUntil(`--${boundary}`));
  for (let part = 0; part < maxFormParts; part++) {
    if ((await reader.read(2)).equals(formEnd)) return;
    const filename = readFilename(await collectHead(reader.readUntil('\r\n\r\n')));
    const body = reader.readUntil(`\r\n--${boundary}`);
    if (filename !== null && filename !== '') yield { filename, bytes: body };
    await skip(body);
  }
  throw brokenFormError();
}

const formEnd = Buffer.from('--');

async function skip(bytes: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of bytes);
}

async function collectHead(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of bytes) {
    length += piece.length;
    if (length > maxPartHeadBytes) throw brokenFormError();
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

/** Browsers write a quote in a name as %22, and line ends as %0D and %0A. */
function readFilename(head: string): string | null {
  const [, name] = /^content-disposition:.*;\s*filename="([^"\r\n]*)"/im.exec(head) ?? [];
  return (
    name?.replaceAll(/%(22|0D|0A)/gi, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16))) ??
    null
  );
}

/** Gives bytes up to a mark, wherever the pieces in which they come are cut. */
class PartReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #ahead: Buffer = Buffer.alloc(0);

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#source = bytes[Symbol.asyncIterator]();
  }

  async #pull(): Promise<void> {
    const { done, value } = await this.#source.next();
    if (done === true) throw brokenFormError();
    this.#ahead = this.#ahead.length === 0 ? Buffer.from(value) : Buffer.concat([this.#ahead, value]);
  }

  #take(length: number): Buffer {
    const taken = this.#ahead.subarray(0, length);
    this.#ahead = this.#ahead.subarray(length);
    return taken;
  }

  async read(length: number): Promise<Buffer> {
    while (this.#ahead.length < length) await this.#pull();
    return this.#take(length);
  }

  /** All bytes before the mark. The mark itself is skipped. */
  async *readUntil(text: string): AsyncGenerator<Buffer, void> {
    const mark = Buffer.from(text);
    for (;;) {
      const at = this.#ahead.indexOf(mark);
      // A mark may have begun in the last bytes.
      const certain = at === -1 ? this.#ahead.length - mark.length + 1 : at;
      if (certain > 0) yield this.#take(certain);
      if (at !== -1) return void this.#take(mark.length);
      await this.#pull();
    }
  }
}

function brokenFormError(): WorkcrateError {
  return new WorkcrateError('invalid_input', 'This form is broken or cut off. Send it again.');
}
