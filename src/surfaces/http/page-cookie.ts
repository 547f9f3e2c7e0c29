/**
 * The cookies of the page: one by which a browser stays signed in, and one for the way to the issuer and back. Neither
 * says anything to whoever reads it, scripts cannot read them, and `auth.ts` takes the first for paths of pages alone.
 */
import type { IncomingMessage } from 'node:http';

export interface PageCookiesOptions {
  /** Whether browsers reach the server by HTTPS alone. */
  readonly isSecure: () => boolean;
}

export type PageCookies = ReturnType<typeof createPageCookies>;

interface CookieTerms {
  readonly name: string;
  /** Other sites never send a strict one; a lax one comes along where another site leads a person back here. */
  readonly sameSite: 'Strict' | 'Lax';
  /** What it can look like at all. */
  readonly form: RegExp;
}

export function createPageCookies(options: PageCookiesOptions) {
  return {
    signedIn: createCookie(options, { name: 'workcrate_page', sameSite: 'Strict', form: /^[\w-]{43}$/ }),
    state: createCookie(options, { name: 'workcrate_sign_in', sameSite: 'Lax', form: /^[\w.-]{1,2000}$/ }),
  };
}

function createCookie({ isSecure }: PageCookiesOptions, { name, sameSite, form }: CookieTerms) {
  // By HTTPS no neighbour in the same domain can set it: browsers see to that for names that begin so.
  const getName = (): string => (isSecure() ? `__Host-${name}` : name);
  const attributes = (): string => `Path=/; HttpOnly; SameSite=${sameSite}${isSecure() ? '; Secure' : ''}`;
  return {
    /** The header that sets it. */
    make: (value: string, lifeMs: number): string =>
      `${getName()}=${value}; Max-Age=${Math.floor(lifeMs / 1000)}; ${attributes()}`,

    /** The header that ends it. */
    end: (): string => `${getName()}=; Max-Age=0; ${attributes()}`,

    /** Null where it is not there, is there twice, or cannot be one of ours. */
    read({ headers: { cookie = '' } }: Pick<IncomingMessage, 'headers'>): string | null {
      const start = `${getName()}=`;
      const given = cookie.split(/;\s*/).filter((part) => part.startsWith(start));
      const value = given.length === 1 ? given[0]!.slice(start.length) : '';
      return form.test(value) ? value : null;
    },
  };
}
