import type { AuthInfo, ServerContext } from '@modelcontextprotocol/server';
import type { Caller, SignedIn } from '../identity.ts';

/** What the SDK carries along with a request. The key or token itself stays outside. */
export function asAuthInfo(who: SignedIn, metadataUrl: string | null): AuthInfo {
  return {
    token: who.credential,
    clientId: who.credential,
    scopes: [...who.scopes],
    extra: { caller: { user: who.user, since: who.since } },
    ...(who.expiresAt === null ? {} : { expiresAt: Math.floor(who.expiresAt / 1000) }),
    ...(metadataUrl === null ? {} : { resourceMetadataUrl: metadataUrl }),
  };
}

/** Who has made a request: the one who signed in, or, where nobody has to, the one given. */
export function callerOf({ http }: Pick<ServerContext, 'http'>, otherwise: Caller): Caller {
  const authInfo = http?.authInfo;
  return authInfo === undefined ? otherwise : (authInfo.extra!['caller'] as Caller);
}
