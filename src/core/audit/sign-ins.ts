/**
 * Lines for who comes in and who is kept out: sign-ins and sign-outs of browsers, keys and tokens that were refused, and
 * scopes that a caller lacks. Calls with a good key have lines of their own.
 */
import type { IncomingMessage } from 'node:http';
import type { SignedIn } from '../identity.ts';
import { isWorkcrateError, type WorkcrateError } from '../../platform/errors.ts';
import { noAuditUser, type Audit } from './audit.ts';

/** What is known of somebody who was refused. Nothing of the key or token is. */
export interface RefusedSignIn {
  readonly address: string;
  readonly reason: string;
  readonly request: Pick<IncomingMessage, 'url'>;
  readonly error: WorkcrateError;
}

export type SignInNotes = ReturnType<typeof auditSignIns>;

export function auditSignIns(audit: Audit) {
  const event = { client: null, subject: null } as const;
  return {
    /** A browser was signed in. Resolves once the line is on the disk. */
    begun({ user, signedInBy, credential }: SignedIn, address: string): Promise<void> {
      const details = { via: 'page', by: signedInBy, credential, address };
      audit.note({ ...event, level: 'info', operation: 'sign_in', user, result: 'ok', details });
      return audit.synced();
    },

    ended(user: string, address: string): Promise<void> {
      const details = { via: 'page', address };
      audit.note({ ...event, level: 'info', operation: 'sign_out', user, result: 'ok', details });
      return audit.synced();
    },

    /** A key or token that was not good, or an answer of the issuer. Many within a minute are folded into one line. */
    refused({ address, reason, request, error }: RefusedSignIn): void {
      const via = request.url?.startsWith('/sign-in') === true ? 'page' : 'http';
      const kind = isWorkcrateError(error, 'unauthorized') ? 'refused_key' : 'refused_sign_in';
      const details = { via, address, reason };
      audit.violation(
        { ...event, operation: 'sign_in', user: noAuditUser, result: error.code, details },
        kind,
        error,
      );
    },

    /** A mistake and not a violation: the owner of a key may not know its scopes. */
    denied({ user }: SignedIn, operation: string, { code: result, details }: WorkcrateError): void {
      audit.note({ ...event, level: 'info', operation, user, result, details: { ...details } });
    },
  };
}
