/**
 * The cookie by which a browser stays signed in to the pages. It names a key by its hash and is signed, so it ends with
 * the key, and opens nothing but pages: `auth.ts` takes it for their paths alone.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export interface PageCookieOptions {
  /** The same for all servers of a team. */
  readonly secret: Uint8Array;
  /** Whether browsers reach the server by HTTPS alone. */
  readonly isSecure: () => boolean;
  readonly clock: () => number;
}

export type PageCookie = ReturnType<typeof createPageCookie>;

const cookieName = 'workcrate_page';
const lifeSeconds = 12 * 3600;
const cookieForm = /^([0-9a-f]{64})\.(\d{1,15})\.([\w-]{43})$/;

export function createPageCookie({ secret, isSecure, clock }: PageCookieOptions) {
  const sign = (keyHash: string, until: number): string =>
    createHmac('sha256', secret).update(`page cookie\n${keyHash}\n${until}`).digest('base64url');
  const attributes = (): string => `Path=/; HttpOnly; SameSite=Strict${isSecure() ? '; Secure' : ''}`;
  return {
    /** The header that signs a browser in. */
    make(keyHash: string): string {
      const until = clock() + lifeSeconds * 1000;
      const value = `${keyHash}.${until}.${sign(keyHash, until)}`;
      return `${cookieName}=${value}; Max-Age=${lifeSeconds}; ${attributes()}`;
    },

    /** The header that signs it out. */
    end: (): string => `${cookieName}=; Max-Age=0; ${attributes()}`,

    /** The hash of the key that a request was signed in with; null where it was not, or no longer is. */
    read({ headers: { cookie = '' } }: Pick<IncomingMessage, 'headers'>): string | null {
      const given = cookie.split(/;\s*/).find((part) => part.startsWith(`${cookieName}=`));
      const [, keyHash, until, signature] = cookieForm.exec(given?.slice(cookieName.length + 1) ?? '') ?? [];
      if (keyHash === undefined || Number(until) <= clock()) return null;
      const own = Buffer.from(sign(keyHash, Number(until)));
      return timingSafeEqual(own, Buffer.from(signature!)) ? keyHash : null;
    },
  };
}
