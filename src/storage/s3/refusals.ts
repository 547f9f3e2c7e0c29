import { WorkcrateError, type ErrorCode } from '../../errors.ts';
import { refusedAs, type Refusal } from '../remote/remote.ts';
import type { Bucket } from './bucket.ts';

const wrongKey =
  'The store does not accept the access key. Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and that the key is active.';
const wrongRegion =
  'The bucket is in another region. Set --s3-region to its region, and --s3-endpoint if there is one.';
const full =
  'The store is full, or the quota of the bucket or its owner is used up. Free some space or raise the quota.';

/** Codes of a store, what each is told as, and what to do about it. */
export type Meanings = Readonly<Record<string, readonly [ErrorCode, string]>>;

const known: Meanings = {
  InvalidAccessKeyId: ['storage_failed', wrongKey],
  SignatureDoesNotMatch: ['storage_failed', wrongKey],
  InvalidToken: ['storage_failed', wrongKey],
  ExpiredToken: [
    'storage_failed',
    'The temporary credentials have expired. Renew AWS_SESSION_TOKEN and the key.',
  ],
  AccessDenied: [
    'storage_read_only',
    'The access key may not do this. Give it permission to get, put, delete and list objects of the bucket, and to ' +
      'abort multipart uploads.',
  ],
  AllAccessDisabled: ['storage_read_only', 'All access to the bucket is disabled. Ask its owner.'],
  NoSuchBucket: [
    'storage_failed',
    'There is no such bucket. Create it, or set --s3-bucket to one that exists.',
  ],
  NoSuchUpload: [
    'storage_failed',
    'The store does not know the parts of this upload any more. Send it again from its start.',
  ],
  // Ceph wants every part that it holds to be named, also those beyond the end, which a crash may have left.
  InvalidPart: [
    'storage_failed',
    'The store has wrong parts of this upload, as a crash may leave them. Send it again from its start.',
  ],
  RequestTimeTooSkewed: [
    'storage_failed',
    'The clock of this machine is off by minutes or more, so the store refuses its requests. Set it right.',
  ],
  RequestExpired: ['storage_failed', 'The clock of this machine is off. Set it right.'],
  PermanentRedirect: ['storage_failed', wrongRegion],
  AuthorizationHeaderMalformed: ['storage_failed', wrongRegion],
  IllegalLocationConstraintException: ['storage_failed', wrongRegion],
  QuotaExceeded: ['storage_full', full],
  InsufficientCapacity: ['storage_full', full],
  XMinioStorageFull: ['storage_full', full],
  EntityTooLarge: ['storage_full', 'The store does not take objects or parts of this size.'],
  SlowDown: ['storage_failed', 'The store is overloaded and asks to slow down. Try again later.'],
  XAmzContentSHA256Mismatch: [
    'storage_failed',
    'Bytes changed on the way to the store, which refused them. Try again.',
  ],
};

const byStatus: Readonly<Record<number, readonly [ErrorCode, string]>> = {
  301: ['storage_failed', wrongRegion],
  307: ['storage_failed', wrongRegion],
  400: [
    'storage_failed',
    'The store does not accept the request: check --s3-region, --s3-endpoint and the path style.',
  ],
  403: known['AccessDenied']!,
  503: ['storage_failed', 'The store is overloaded or down. Try again later.'],
  507: ['storage_full', full],
};

/** What a refusal means and what to do about it; its code stands in the cause. */
export function refused({ store, meanings }: Bucket, refusal: Refusal): WorkcrateError {
  const [code, message] = meanings?.[refusal.code] ??
    known[refusal.code] ??
    byStatus[refusal.status] ?? ['storage_failed', 'The store failed. The log of the server says why.'];
  return new WorkcrateError(code, message, { cause: refusedAs(store, refusal) });
}

/** The answer as it is, unless it is a refusal. */
export function demand<T extends { readonly refusal: Refusal | null }>(bucket: Bucket, answer: T): T {
  if (answer.refusal !== null) throw refused(bucket, answer.refusal);
  return answer;
}
