/**
 * The frames in which code calls tools: four bytes with a length, then JSON of that length. What comes from a run is not
 * trusted: it is bounded before it is parsed, and parsed before it is used.
 */
import { z } from 'zod';
import { WorkcrateError } from '../../platform/errors.ts';

/** Of a call, with its arguments. */
const maxCallBytes = 1024 ** 2;
/** Of the value that a call gives; what is larger is a file. */
export const maxValueBytes = 1024 ** 2;
/** Values that are nested deeper are refused: what reads them goes down by recursion. */
const maxFrameDepth = 100;

const lengthBytes = 4;

const callFrameShape = z.strictObject({
  id: z.int().min(0),
  call: z.string().max(200),
  arguments: z.record(z.string(), z.unknown()),
});
const saveShape = z.strictObject({
  id: z.int().min(0),
  save: z.string().min(1).max(4096),
  path: z.string().min(1).max(4096),
});
const requestShape = z.union([callFrameShape, saveShape]);

/** What code asks for. */
export type CallRequest = z.output<typeof requestShape>;

/** Cuts a stream of bytes into requests. Throws `invalid_input` at the first that is none. */
export class FrameReader {
  #parts: Buffer[] = [];
  #size = 0;

  /** The requests that are whole with these bytes. */
  *read(chunk: Buffer): Generator<CallRequest> {
    this.#parts.push(chunk);
    this.#size += chunk.length;
    for (let length = this.#peekLength(); length !== null; length = this.#peekLength()) {
      if (length > maxCallBytes) throw frameError('a call of more than 1 MB');
      if (this.#size < lengthBytes + length) return;
      yield parseRequest(this.#take(length));
    }
  }

  #peekLength(): number | null {
    if (this.#size < lengthBytes) return null;
    if (this.#parts[0]!.length < lengthBytes) this.#parts = [Buffer.concat(this.#parts)];
    return this.#parts[0]!.readUInt32BE(0);
  }

  #take(length: number): Buffer {
    const all = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    const rest = all.subarray(lengthBytes + length);
    this.#parts = rest.length === 0 ? [] : [rest];
    this.#size = rest.length;
    return all.subarray(lengthBytes, lengthBytes + length);
  }
}

function parseRequest(bytes: Buffer): CallRequest {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch (cause) {
    throw frameError('what is no JSON', cause);
  }
  if (measureValue(value, maxCallBytes * 2) === null) throw frameError('what is nested too deep');
  const request = requestShape.safeParse(value);
  if (!request.success) throw frameError('what is no call');
  return request.data;
}

const frameError = (what: string, cause?: unknown): WorkcrateError =>
  new WorkcrateError('invalid_input', `The run sent ${what} to the server, so it can call no more tools.`, {
    cause,
  });

/**
 * How many characters a value takes as JSON, roughly; null where it is more than `most`, or is nested too deep. It does
 * not write the JSON, which could take all memory.
 */
export function measureValue(value: unknown, most: number): number | null {
  let size = 0;
  /** False once it is too much. */
  const add = (part: unknown, depth: number): boolean => {
    size += typeof part === 'string' ? part.length + 3 : 2;
    if (size > most || depth > maxFrameDepth) return false;
    if (typeof part !== 'object' || part === null) return true;
    if (Array.isArray(part))
      return size + part.length <= most && part.every((inner) => add(inner, depth + 1));
    for (const key in part) {
      size += key.length + 3;
      if (!add((part as Record<string, unknown>)[key], depth + 1)) return false;
    }
    return true;
  };
  return add(value, 0) ? size : null;
}

/** An answer as the run reads it. */
export function encodeFrame(answer: object): Buffer {
  const body = Buffer.from(JSON.stringify(answer));
  const head = Buffer.alloc(lengthBytes);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}
