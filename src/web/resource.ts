import { scopes, usualScopes, type Users } from '../users/users.ts';
import type { ChallengeTerms } from './challenge.ts';

/** What clients are told about signing in (RFC 9728). Nothing but the header where there is no OAuth. */
export function createResource(users: Pick<Users, 'issuer' | 'takesTokens'> | null, baseUrl: () => string) {
  const takesTokens = users?.takesTokens ?? false;
  // Below the base of the public URL, whatever its path, so that a proxy passes it on like all else.
  const metadataUrl = (): string | null =>
    takesTokens ? `${baseUrl()}/.well-known/oauth-protected-resource/mcp` : null;
  return {
    metadataUrl,
    terms: (): ChallengeTerms => ({ metadataUrl: metadataUrl(), scopes: usualScopes }),
    async metadata(): Promise<object | null> {
      if (users === null || !takesTokens) return null;
      return {
        resource: `${baseUrl()}/mcp`,
        authorization_servers: [await users.issuer()],
        scopes_supported: scopes,
        bearer_methods_supported: ['header'],
        resource_name: 'Workcrate',
      };
    },
  };
}
