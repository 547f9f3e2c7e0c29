/** ClientHellos for tests and attacks, byte by byte. */

export interface HelloParts {
  /** The names in the SNI extension; null leaves the extension out. */
  readonly names?: readonly string[] | null;
  /** Extensions as they are, after the one with the names. */
  readonly extensions?: readonly Buffer[];
  /** How many bytes of the message each record has. */
  readonly recordBytes?: number;
}

const uint = (value: number, bytes: number): Buffer => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, bytes);
  return buffer;
};

const vector = (lengthBytes: number, ...parts: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  return Buffer.concat([uint(content.length, lengthBytes), content]);
};

export const makeExtension = (type: number, content: Buffer = Buffer.alloc(0)): Buffer =>
  Buffer.concat([uint(type, 2), vector(2, content)]);

export const makeNames = (names: readonly string[], kind = 0): Buffer =>
  makeExtension(
    0,
    vector(2, ...names.map((name) => Buffer.concat([uint(kind, 1), vector(2, Buffer.from(name, 'latin1'))]))),
  );

export function makeHelloMessage({ names = null, extensions = [] }: HelloParts): Buffer {
  const all = [...(names === null ? [] : [makeNames(names)]), ...extensions];
  const body = Buffer.concat([
    uint(0x0303, 2),
    Buffer.alloc(32, 7),
    vector(1, Buffer.alloc(32, 9)),
    vector(2, Buffer.from('130113021303c02bc02f', 'hex')),
    vector(1, Buffer.from([0])),
    vector(2, ...all),
  ]);
  return Buffer.concat([uint(1, 1), uint(body.length, 3), body]);
}

export function makeHello(parts: HelloParts): Buffer {
  const message = makeHelloMessage(parts);
  const step = parts.recordBytes ?? message.length;
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += step)
    records.push(makeRecord(22, message.subarray(at, at + step)));
  return Buffer.concat(records);
}

export const makeRecord = (type: number, content: Buffer, version = 0x0301): Buffer =>
  Buffer.concat([uint(type, 1), uint(version, 2), vector(2, content)]);
