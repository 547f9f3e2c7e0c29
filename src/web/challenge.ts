import { WorkcrateError } from '../errors.ts';

export interface ChallengeTerms {
  /** Where clients read how to get a token (RFC 9728), or null without OAuth. */
  readonly metadataUrl: string | null;
  /** What a client should ask a token for. */
  readonly scopes: readonly string[];
}

/** Whether the request brought a key or token at all: then it is told what is wrong with it (RFC 6750). */
export type Shown = 'nothing' | 'something';

/** The header that tells a client how to sign in, for errors that are about that; else null. */
export function challengeOf(error: WorkcrateError, shown: Shown, terms: ChallengeTerms): string | null {
  const parts = partsOf(error, shown, terms);
  if (parts === null) return null;
  const all = { realm: 'workcrate', ...parts, ...metadataOf(terms) };
  return `Bearer ${Object.entries(all)
    .map(([name, value]) => `${name}="${quotable(value)}"`)
    .join(', ')}`;
}

function partsOf(
  { code, message, details }: WorkcrateError,
  shown: Shown,
  { metadataUrl, scopes }: ChallengeTerms,
): Record<string, string> | null {
  if (code === 'unauthorized') {
    // Without OAuth there is nobody whom a client could ask for scopes.
    const scope: Record<string, string> = metadataUrl === null ? {} : { scope: scopes.join(' ') };
    return shown === 'nothing' ? scope : { error: 'invalid_token', error_description: message, ...scope };
  }
  if (code !== 'forbidden' || details['scope'] === undefined) return null;
  return { error: 'insufficient_scope', error_description: message, scope: String(details['scope']) };
}

const metadataOf = ({ metadataUrl }: ChallengeTerms): Record<string, string> =>
  metadataUrl === null ? {} : { resource_metadata: metadataUrl };

/** What may stand between quotes in a header. */
const quotable = (text: string): string => text.replaceAll(/[^\x20-\x7e]|["\\]/g, ' ');

export function missingScope(scope: string): WorkcrateError {
  return new WorkcrateError('forbidden', `This needs the scope ${scope}, which your key or token lacks.`, {
    details: { scope },
  });
}
