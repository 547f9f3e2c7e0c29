import type { OpenObject } from '../storage/storage.ts';

/** The bytes of an open object from `start` to before `end`. */
export interface ObjectRange {
  readonly object: OpenObject;
  readonly start: number;
  readonly end: number;
}

/** One stretch of a response body: bytes in memory, or a range of an open object. */
export type Segment = { readonly bytes: Uint8Array } | ObjectRange;

/** An object's range where the object has a descriptor. */
export interface FileRange {
  readonly file: number;
  readonly start: number;
  readonly end: number;
}

export function lengthOf(segment: Segment): number {
  return 'bytes' in segment ? segment.bytes.length : segment.end - segment.start;
}
