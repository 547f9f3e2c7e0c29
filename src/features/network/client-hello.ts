/**
 * Reads the first message of TLS, the ClientHello, for the name of the server that the client asks for (SNI). It is
 * strict: what another program could read in another way is no ClientHello. It decrypts nothing and changes no byte.
 */

export interface ClientHello {
  /** As the client wrote it; null where it names none. */
  readonly serverName: string | null;
  /** The name that counts may be inside, encrypted (ECH), or an imitation of that. */
  readonly isEncrypted: boolean;
}

/** `incomplete`: more bytes are needed. `bad`: it is no ClientHello, whatever comes. */
export type HelloReading =
  | { readonly state: 'incomplete' }
  | { readonly state: 'bad'; readonly why: string }
  | { readonly state: 'complete'; readonly hello: ClientHello };

/** With the large keys of today it has about 2 KB. */
export const maxHelloBytes = 16 * 1024;
/** Each record may hold as little as one byte of it. */
const maxHelloRecords = 32;

const handshakeRecord = 22;
const clientHelloMessage = 1;
const serverNameExtension = 0;
/** Of RFC 9849, and of the draft before it that encrypted the name alone. */
const encryptedHelloExtensions = new Set([0xfe0d, 0xffce]);

class BadHello extends Error {}

/** Looks at the bytes that have come so far. */
export function readClientHello(bytes: Buffer): HelloReading {
  try {
    const message = joinRecords(bytes);
    if (message === null)
      return bytes.length >= maxHelloBytes
        ? { state: 'bad', why: 'it is too long' }
        : { state: 'incomplete' };
    return { state: 'complete', hello: parseHello(message) };
  } catch (error) {
    if (error instanceof BadHello) return { state: 'bad', why: error.message };
    throw error;
  }
}

/** The body of the message, from as many records as it takes; null where some of it has not come. */
function joinRecords(bytes: Buffer): Buffer | null {
  const parts: Buffer[] = [];
  let [at, have] = [0, 0];
  for (let count = 0; count < maxHelloRecords; count++) {
    if (bytes.length > at && bytes[at] !== handshakeRecord) throw new BadHello('it is not TLS');
    if (bytes.length > at + 1 && bytes[at + 1] !== 3) throw new BadHello('it is not TLS');
    if (bytes.length < at + 5) return null;
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0 || length > 16_384) throw new BadHello('a record has a length that is not allowed');
    if (bytes.length < at + 5 + length) return null;
    parts.push(bytes.subarray(at + 5, at + 5 + length));
    have += length;
    at += 5 + length;
    const message = have >= 4 ? readHelloMessage(Buffer.concat(parts)) : null;
    if (message !== null) return message;
  }
  throw new BadHello('it is in too many pieces');
}

function readHelloMessage(bytes: Buffer): Buffer | null {
  if (bytes[0] !== clientHelloMessage) throw new BadHello('it does not begin with a ClientHello');
  const length = bytes.readUIntBE(1, 3);
  if (length > maxHelloBytes) throw new BadHello('it is too long');
  if (bytes.length > 4 + length) throw new BadHello('something follows the ClientHello in its record');
  return bytes.length === 4 + length ? bytes.subarray(4) : null;
}

/** Takes bytes from the front; whatever is missing or left over makes it a bad one. */
class Reader {
  #rest: Buffer;

  constructor(bytes: Buffer) {
    this.#rest = bytes;
  }

  get isEmpty(): boolean {
    return this.#rest.length === 0;
  }

  take(length: number): Buffer {
    if (this.#rest.length < length) throw new BadHello('a length in it is wrong');
    const taken = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return taken;
  }

  takeNumber(bytes: 1 | 2): number {
    return this.take(bytes).readUIntBE(0, bytes);
  }

  /** What is behind its own length. */
  takeVector(lengthBytes: 1 | 2): Reader {
    return new Reader(this.take(this.takeNumber(lengthBytes)));
  }

  demandEnd(): void {
    if (!this.isEmpty) throw new BadHello('a length in it is wrong');
  }

  text(): string {
    return this.#rest.toString('latin1');
  }
}

function parseHello(message: Buffer): ClientHello {
  const reader = new Reader(message);
  reader.take(2 + 32);
  for (const lengthBytes of [1, 2, 1] as const) reader.takeVector(lengthBytes);
  const extensions = reader.isEmpty ? new Reader(Buffer.alloc(0)) : reader.takeVector(2);
  reader.demandEnd();
  const seen = new Set<number>();
  let serverName: string | null = null;
  while (!extensions.isEmpty) {
    const type = extensions.takeNumber(2);
    const content = extensions.takeVector(2);
    if (seen.has(type)) throw new BadHello('it has an extension twice');
    seen.add(type);
    if (type === serverNameExtension) serverName = parseServerName(content);
  }
  return { serverName, isEncrypted: seen.intersection(encryptedHelloExtensions).size > 0 };
}

/** A list that has to have one entry: a host name. */
function parseServerName(content: Reader): string {
  const list = content.takeVector(2);
  content.demandEnd();
  if (list.takeNumber(1) !== 0) throw new BadHello('its server name is not a host name');
  const name = list.takeVector(2).text();
  list.demandEnd();
  return name;
}
