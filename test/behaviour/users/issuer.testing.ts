import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  exportJWK,
  exportSPKI,
  generateKeyPair,
  SignJWT,
  type JWTPayload,
  type CryptoKey,
  type JWK,
} from 'jose';
import OidcProvider from 'oidc-provider';

/** A real issuer of tokens on loopback, which can change its keys and go away. */
export interface TestIssuer extends AsyncDisposable {
  readonly url: string;
  readonly secret: string;
  /** A token as a program gets one: by its own name and secret. */
  token(client: string, resource: string, scope: string): Promise<string>;
  /** A token that the issuer itself would not give, signed with its key of now. */
  sign(claims: JWTPayload, header?: { alg?: string; kid?: string }): Promise<string>;
  /** Its public key of now, in the forms in which it is handed around. */
  publicKey(): Promise<{ jwk: JWK; pem: string }>;
  rotate(): Promise<void>;
  /** From now on people can sign in here, with any name, for a client that gets their codes at this address. */
  admitPage(client: PageClient): Promise<void>;
  down(): Promise<void>;
  up(): Promise<void>;
  /** How often it was asked for its keys. */
  readonly keyRequests: number;
}

const allScopes = 'code artifacts files crates documents client operator';
const secret = 'a secret of the tests, and of nobody else';

/** The page of a server under test, as the issuer knows it. */
export interface PageClient {
  readonly redirectUri: string;
  /** The client is called `page`, and has the secret of all clients unless it is public. */
  readonly isPublic?: boolean;
  /** How long its access tokens are good. */
  readonly tokenSeconds?: number;
}

interface Keys {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

/** At another address of loopback it is another site to a browser. */
export async function startIssuer(clients: readonly string[], host = '127.0.0.1'): Promise<TestIssuer> {
  let answer: RequestListener = (_req, res) => void res.writeHead(503).end();
  let keyRequests = 0;
  const listener: RequestListener = (req, res) => {
    if (req.url?.startsWith('/jwks')) keyRequests++;
    answer(req, res);
  };
  let server = await listening(listener, host, 0);
  const { port } = server.address() as AddressInfo;
  const url = `http://${host}:${port}`;
  let keys!: Keys;
  let page: PageClient | null = null;
  const open = async (): Promise<void> => {
    answer = new OidcProvider(url, await configuration(clients, page, keys)).callback();
  };
  const rotate = async (): Promise<void> => {
    keys = await newKeys();
    await open();
  };
  await rotate();
  return {
    url,
    secret,
    get keyRequests() {
      return keyRequests;
    },
    token: (client, resource, scope) => askToken(url, client, resource, scope),
    sign: (claims, header = {}) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', kid: keys.kid, typ: 'at+jwt', ...header })
        .sign(keys.privateKey),
    publicKey: async () => ({ jwk: await exportJWK(keys.publicKey), pem: await exportSPKI(keys.publicKey) }),
    rotate,
    async admitPage(client) {
      page = client;
      await open();
    },
    down: () => stopped(server),
    up: async () => void (server = await listening(listener, host, port)),
    [Symbol.asyncDispose]: () => stopped(server),
  };
}

async function listening(listener: RequestListener, host: string, port: number): Promise<Server> {
  const server = createServer(listener);
  await once(server.listen(port, host), 'listening');
  return server;
}

async function stopped(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

async function newKeys(): Promise<Keys> {
  const pair = await generateKeyPair('ES256', { extractable: true });
  return { ...pair, kid: crypto.randomUUID() };
}

const toPageClient = ({ redirectUri, isPublic = false }: PageClient) => ({
  client_id: 'page',
  ...(isPublic ? { token_endpoint_auth_method: 'none' } : { client_secret: secret }),
  grant_types: ['authorization_code'],
  redirect_uris: [redirectUri],
  response_types: ['code'],
  scope: `openid ${allScopes}`,
  id_token_signed_response_alg: 'ES256',
});

async function configuration(clients: readonly string[], page: PageClient | null, { kid, privateKey }: Keys) {
  const programs = clients.map((client_id) => ({
    client_id,
    client_secret: secret,
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
    scope: allScopes,
    id_token_signed_response_alg: 'ES256',
  }));
  return {
    clients: page === null ? programs : [...programs, toPageClient(page)],
    scopes: `openid ${allScopes}`.split(' '),
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid, alg: 'ES256', use: 'sig' }] },
    cookies: { keys: [secret] },
    ttl: {
      ClientCredentials: 3600,
      AuthorizationCode: 60,
      Interaction: 3600,
      Grant: 86_400,
      Session: 86_400,
    },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: page !== null },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context: unknown, audience: string) => ({
          scope: allScopes,
          audience,
          accessTokenTTL: page?.tokenSeconds ?? 3600,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  };
}

async function askToken(url: string, client: string, resource: string, scope: string): Promise<string> {
  const answer = await fetch(`${url}/token`, {
    method: 'POST',
    headers: {
      Authorization: `Basic ${btoa(`${encodeURIComponent(client)}:${encodeURIComponent(secret)}`)}`,
    },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope }),
  });
  const body = (await answer.json()) as { access_token?: string };
  if (body.access_token === undefined) throw new Error(`no token: ${JSON.stringify(body)}`);
  return body.access_token;
}
