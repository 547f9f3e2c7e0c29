import { WorkcrateError } from '../../errors.ts';
import type { Storage } from '../storage.ts';

export interface AzureOptions {
  readonly container: string;
  /** What every name begins with; empty or ending in `/`. */
  readonly prefix: string;
  /** URL of the blob service, without a slash at its end. */
  readonly endpoint: string;
  readonly account: string;
  /** The account's key in base64, or a shared access signature. */
  readonly credential: { readonly key: string } | { readonly sas: string };
  readonly partBytes: number;
}

export async function azureStorage(_options: AzureOptions): Promise<Storage> {
  throw new WorkcrateError('unsupported', 'Azure is not there yet.');
}
