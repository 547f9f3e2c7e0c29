import { WorkcrateError, type ErrorCode } from '../../errors.ts';
import { refusedAs, type Refusal } from '../remote/remote.ts';

/** Codes of the service, what each is told as, and what to do about it. */
export type Meanings = Readonly<Record<string, readonly [ErrorCode, string]>>;

export interface Where {
  readonly host: string;
  readonly account: string;
  readonly container: string;
  /** What refusals mean where the container is used for something else than to keep files. */
  readonly meanings: Meanings;
}

interface Refused {
  readonly refusal: Refusal | null;
  readonly headers: { readonly date?: string | undefined };
}

/** Whether the answer says that there is no such blob, and not that there is no such container. */
export const isAbsent = ({ refusal }: Refused): boolean =>
  refusal?.status === 404 && refusal.code !== 'ContainerNotFound';

/** Whether a condition of the request did not hold, such as that the blob is not there yet. */
export const isUnmet = ({ refusal }: Refused): boolean =>
  refusal?.status === 412 || (refusal?.status === 409 && refusal.code === 'BlobAlreadyExists');

/** What a refusal means for the operator; what the service said itself goes into the cause alone. */
export function refused(where: Where, method: string, { refusal, headers }: Refused): WorkcrateError {
  const [code, message] = told(where, method, refusal!, headers.date);
  return new WorkcrateError(code, message, { cause: refusedAs(where.host, refusal!) });
}

function told(
  where: Where,
  method: string,
  refusal: Refusal,
  date: string | undefined,
): readonly [ErrorCode, string] {
  const { status, code } = refusal;
  const meant = where.meanings[code];
  if (meant !== undefined) return meant;
  const store = `The store ${where.host}`;
  if (code === 'ContainerNotFound')
    return [
      'storage_failed',
      `There is no container ${where.container} in the account ${where.account}. Make it, or name another with --azure-container.`,
    ];
  if (status === 401 || status === 403) return denied(where, method, code, date);
  if (status >= 500 || status === 429)
    return ['storage_failed', `${store} fails or is overloaded (${status} ${code}). Try again later.`];
  return [
    'storage_failed',
    `${store} refused a request (${status} ${code}). The log of the server says which.`,
  ];
}

function denied(where: Where, method: string, code: string, date: string | undefined): [ErrorCode, string] {
  const minutes = minutesOff(date);
  if (minutes > 5)
    return [
      'storage_failed',
      `The clock of this machine is ${minutes} minutes off that of the store ${where.host}, so the store refuses our signatures. Set the clock right.`,
    ];
  if (/Permission|Insufficient|Mismatch/.test(code))
    return [
      method === 'GET' || method === 'HEAD' ? 'storage_failed' : 'storage_read_only',
      `The credential for the account ${where.account} may not do this (${code}). It needs to read, create, write, delete and list blobs in ${where.container}.`,
    ];
  return [
    'storage_failed',
    `The store ${where.host} does not accept the credential for the account ${where.account}. Check AZURE_STORAGE_KEY, whether the shared access signature has expired, and the network rules of the account.`,
  ];
}

function minutesOff(date: string | undefined): number {
  const off = Math.abs(Date.parse(date ?? '') - Date.now());
  return Number.isFinite(off) ? Math.round(off / 60_000) : 0;
}
