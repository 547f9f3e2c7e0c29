import { WorkcrateError } from '../../errors.ts';
import type { Refusal } from './answers.ts';

/** The code of a failed connection; where every address of a name failed, that of the first. */
export function systemCode(error: unknown): string {
  if (error instanceof AggregateError) return systemCode(error.errors[0]);
  const { code } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  return typeof code === 'string' ? code : '';
}

const remedies: Record<string, string> = {
  ECONNREFUSED: 'refuses connections. Check that it runs, and its address.',
  ENOTFOUND: 'was not found by that name. Check its address.',
  EAI_AGAIN: 'could not be looked up. Check the name service of this machine, and the address.',
  ETIMEDOUT: 'does not answer in time. See whether it is overloaded or behind a firewall.',
  ECONNRESET: 'closed the connection. Try again; see its log if this continues.',
  EPIPE: 'closed the connection. Try again; see its log if this continues.',
};

const otherRemedy = 'cannot be reached. The log of the server says why.';
const certificateRemedy =
  'shows a certificate that is not trusted. Give Node its authority by NODE_EXTRA_CA_CERTS, or check the address.';

/** A connection that failed, in words; `store` names it by host, never by a URL that might be signed. */
export function unreachable(store: string, error: unknown): WorkcrateError {
  if (error instanceof WorkcrateError) return error;
  const code = systemCode(error);
  const remedy = remedies[code] ?? (/CERT|TLS|SIGNATURE/.test(code) ? certificateRemedy : otherRemedy);
  const text = error instanceof Error ? error.message : String(error);
  return new WorkcrateError('storage_failed', `The store ${store} ${remedy}`, {
    cause: new Error(`${code} ${text}`.trim()),
  });
}

/** For the log: which request was refused, and how. */
export function refusedAs(store: string, { status, code, requestId }: Refusal): Error {
  return new Error(`${store} answered ${status} ${code}`.trim() + (requestId && ` to request ${requestId}`));
}
