import { hash } from 'node:crypto';
import { z } from 'zod';
import type { Upload } from '../../links/links.ts';
import { keyOf, type ErrandKey } from './errand.ts';

/** What stands beside an upload in the database, for any server. */
const noteShape = z.object({
  operation: z.enum(['read', 'list']),
  /** Of the client's: where it is, for whoever compares. */
  path: z.string(),
  place: z.string().nullable(),
  /** All that its page may tell. */
  name: z.string(),
  /** By which it was asked for last. */
  rung: z.enum(['upload', 'url']),
  /** What was said of it when it was asked for. */
  size: z.number().nullable(),
  sha256: z.string().nullable(),
  /** Whether it came and somebody was told where it is stored. */
  isKept: z.boolean(),
});

export type Note = z.output<typeof noteShape>;

/** Short, however long the path is. */
export const purposeOf = (errand: ErrandKey): string => hash('sha256', keyOf(errand), 'hex');

export const noteOf = ({ purpose }: Upload): Note => noteShape.parse(JSON.parse(purpose!.note));
