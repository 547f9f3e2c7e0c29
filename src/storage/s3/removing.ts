import type { Bucket } from './bucket.ts';
import { isAbsent } from './heads.ts';
import { refused } from './refusals.ts';

/** No error where there is nothing. */
export async function removeName(bucket: Bucket, name: string): Promise<void> {
  const { refusal } = await bucket.ask({ method: 'DELETE', name });
  if (refusal !== null && !isAbsent(refusal)) throw refused(bucket, refusal);
}
