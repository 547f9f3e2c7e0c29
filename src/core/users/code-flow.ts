/**
 * Gets a token for a person in a browser: the Authorization Code flow with PKCE (RFC 7636), of which the page is the
 * client. It keeps nothing: who is under way is in a cookie (`surfaces/http/sign-in-state.ts`), and the token is checked as that of
 * any other client (`oauth.ts`). Loaded only where a client id is set.
 */
import { hash } from 'node:crypto';
import { errors, jwtVerify } from 'jose';
import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { IssuerDown, postForm } from './issuer-url.ts';
import { defaultScopes, scopes as allScopes } from './names.ts';
import { leewaySeconds, signatureAlgorithms, type KnownIssuer } from './oauth.ts';

export interface CodeFlowOptions {
  readonly issuer: () => Promise<KnownIssuer>;
  readonly clientId: string;
  /** Null for a public client. */
  readonly clientSecret: string | null;
  /** What tokens have to be for. */
  readonly audience: () => string;
  /** Where the issuer sends a browser back to. */
  readonly redirectUri: () => string;
  readonly clock: Clock;
}

/** What one way to the issuer and back is known by. Only the browser that began it can end it. */
export interface PendingSignIn {
  readonly state: string;
  /** In the ID token. */
  readonly nonce: string;
  /** Proves at the end who was there at the start (PKCE). */
  readonly verifier: string;
}

export type CodeFlow = ReturnType<typeof createCodeFlow>;

export function createCodeFlow(options: CodeFlowOptions) {
  const { issuer, clientId, redirectUri } = options;
  return {
    /** Where the browser goes. */
    async getAuthorizationUrl({ state, nonce, verifier }: PendingSignIn): Promise<string> {
      const known = await issuer();
      const url = new URL(checkEndpointNamed(known.authorizationEndpoint));
      const query = {
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri(),
        scope: chooseScopes(known).join(' '),
        state,
        nonce,
        code_challenge: hash('sha256', verifier, 'base64url'),
        code_challenge_method: 'S256',
        ...toTarget(options.audience()),
      };
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      return url.href;
    },

    /** The access token for what the issuer sent the browser back with. Its `state` has been compared already. */
    async redeem(pending: PendingSignIn, query: URLSearchParams): Promise<string> {
      const known = await issuer();
      checkSameIssuer(known, query);
      checkIssuerError(query);
      const code = query.get('code');
      if (code === null || code === '')
        throw new WorkcrateError('invalid_input', 'The issuer sent no code. Sign in again.');
      const tokens = await askForTokens(options, known, pending.verifier, code);
      if (asksForIdToken(known)) await checkIdToken(options, known, tokens.id_token, pending.nonce);
      return tokens.access_token;
    },
  };
}

function checkEndpointNamed(url: string | null): string {
  if (url !== null) return url;
  throw new WorkcrateError(
    'unsupported',
    'The issuer does not say where people sign in, so nobody can sign in to this page with it. Use a key.',
  );
}

/** An issuer that lists its scopes may refuse others. */
function chooseScopes({ scopes }: KnownIssuer): readonly string[] {
  if (scopes === null) return defaultScopes;
  return ['openid', ...allScopes].filter((scope) => scopes.includes(scope));
}

const asksForIdToken = (known: KnownIssuer): boolean => chooseScopes(known).includes('openid');

/** RFC 8707 takes URLs alone; some issuers know what a token is for by another name. */
const toTarget = (audience: string): Record<string, string> =>
  URL.canParse(audience) ? { resource: audience } : { audience };

/** An answer of another issuer, which could be given our code (RFC 9207). */
function checkSameIssuer({ id, namesItself }: KnownIssuer, query: URLSearchParams): void {
  const named = query.getAll('iss');
  if (named.length === 0 && !namesItself) return;
  if (named.length === 1 && named[0] === id) return;
  throw new WorkcrateError(
    'forbidden',
    'This answer is not from the issuer that you were sent to, so it was refused. Sign in again.',
  );
}

/** An error in the words of the issuer, as far as it is plain text; `state` has shown that the issuer wrote it. */
function checkIssuerError(query: URLSearchParams): void {
  const code = query.get('error');
  if (code === null) return;
  if (code === 'access_denied')
    throw new WorkcrateError('forbidden', 'You, or the issuer, did not allow it. Nobody was signed in.');
  throw new WorkcrateError('forbidden', `The issuer refused: ${toPlainWords(code)}. Nobody was signed in.`);
}

const toPlainWords = (code: string): string => code.replaceAll(/[^\w -]/g, '').slice(0, 60);

const tokensSchema = z.object({ access_token: z.string(), id_token: z.string().optional() });
const refusalSchema = z.object({ error: z.string() });

async function askForTokens(
  { clientId, clientSecret, redirectUri, audience }: CodeFlowOptions,
  known: KnownIssuer,
  verifier: string,
  code: string,
): Promise<z.infer<typeof tokensSchema>> {
  const { headers, fields } = authenticateClient(known, clientId, clientSecret);
  const { status, body } = await postForm(checkEndpointNamed(known.tokenEndpoint), headers, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri(),
    code_verifier: verifier,
    ...toTarget(audience()),
    ...fields,
  });
  const tokens = tokensSchema.safeParse(body);
  if (status === 200 && tokens.success) return tokens.data;
  const refusal = refusalSchema.safeParse(body).data?.error ?? `status ${status}`;
  // A code that was used, has expired or was made up: the browser is at fault. All else is up to the operator.
  if (refusal === 'invalid_grant')
    throw new WorkcrateError(
      'unauthorized',
      'The issuer no longer takes this code: it has expired, or was used already. Sign in again.',
    );
  throw new IssuerDown(`The token endpoint refused the code: ${toPlainWords(refusal)}.`);
}

/** By the header that every issuer has to take, unless it says that it takes the other way alone. */
function authenticateClient({ clientAuthentication }: KnownIssuer, id: string, secret: string | null) {
  if (secret === null) return { headers: {}, fields: { client_id: id } };
  if (clientAuthentication !== null && !clientAuthentication.includes('client_secret_basic'))
    return { headers: {}, fields: { client_id: id, client_secret: secret } };
  const pair = [id, secret].map((text) => new URLSearchParams({ text }).toString().slice('text='.length));
  return { headers: { Authorization: `Basic ${btoa(pair.join(':'))}` }, fields: {} };
}

/** Whether the token belongs to this very sign-in: somebody could have put a code of another into the answer. */
async function checkIdToken(
  { clientId, clock }: CodeFlowOptions,
  { id, keys }: KnownIssuer,
  idToken: string | undefined,
  nonce: string,
): Promise<void> {
  const terms = { issuer: id, audience: clientId, requiredClaims: ['exp'], clockTolerance: leewaySeconds };
  try {
    const { payload } = await jwtVerify(idToken ?? '', keys, {
      ...terms,
      algorithms: signatureAlgorithms,
      currentDate: new Date(clock()),
    });
    if (payload['nonce'] === nonce && (payload['azp'] ?? clientId) === clientId) return;
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error;
  }
  throw new WorkcrateError(
    'forbidden',
    'What the issuer says of you does not belong to this sign-in, so it was refused. Sign in again.',
  );
}
