import { WorkcrateError } from '../../errors.ts';
import type { Storage } from '../storage.ts';

export interface S3Options {
  readonly bucket: string;
  /** What every key begins with; empty or ending in `/`. */
  readonly prefix: string;
  /** Without a slash at its end; null for AWS itself. */
  readonly endpoint: string | null;
  readonly region: string;
  /** Whether the bucket stands in the path and not in the host name. */
  readonly pathStyle: boolean;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | null;
  readonly partBytes: number;
}

export async function s3Storage(_options: S3Options): Promise<Storage> {
  throw new WorkcrateError('unsupported', 'S3 is not there yet.');
}
