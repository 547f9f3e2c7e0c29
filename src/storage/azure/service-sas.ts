import { hmac, type Account } from './shared-key.ts';

const version = '2023-11-03';

export interface SasGrant {
  readonly container: string;
  readonly blob: string;
  /** `r` to read; `c` to make it where it is not there yet. */
  readonly permissions: 'r' | 'c';
  /** In milliseconds; the service knows whole seconds. */
  readonly expiresAt: number;
  readonly isHttps: boolean;
  readonly response: { readonly contentType: string; readonly contentDisposition: string } | null;
}

/** The query of a URL that gives one right to one blob until a time. */
export function serviceSas(account: Account, grant: SasGrant): string {
  const expiry = new Date(grant.expiresAt).toISOString().replace(/\.\d+Z$/, 'Z');
  const query: Record<string, string> = {
    sp: grant.permissions,
    se: expiry,
    ...(grant.isHttps ? { spr: 'https' } : {}),
    sv: version,
    sr: 'b',
    ...(grant.response ? { rscd: grant.response.contentDisposition, rsct: grant.response.contentType } : {}),
  };
  const sig = hmac(account.key, textToSign(account.account, grant, query));
  return Object.entries({ ...query, sig })
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
}

/** Fields that are not used stand there empty: start, policy, address, snapshot, scope, and three of the headers. */
function textToSign(account: string, { container, blob }: SasGrant, query: Record<string, string>): string {
  const at = (name: string): string => query[name] ?? '';
  const resource = `/blob/${account}/${container}/${blob}`;
  const bounds = [at('sp'), '', at('se'), resource, '', '', at('spr'), at('sv'), at('sr'), '', ''];
  return [...bounds, '', at('rscd'), '', '', at('rsct')].join('\n');
}
