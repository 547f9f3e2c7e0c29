/** What signing in adds to a call: list_files over HTTP with keep-alive, without auth, with a key, with a token. */
import { spawn, execFileSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { temporaryFolder } from './program.ts';
import { median, timed } from './timed.ts';
import { reportFigure, toDifferences } from './figures.ts';

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const params = { name: 'list_files', arguments: {}, _meta: envelope };
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
const headers = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
  'Content-Length': Buffer.byteLength(body),
  'MCP-Protocol-Version': '2026-07-28',
  'Mcp-Method': 'tools/call',
  'Mcp-Name': 'list_files',
};
const asked = 0.2;
const [rounds, callsEach] = [40, 100];
const program = join(import.meta.dirname, '../bin/workcrate.js');
const audience = 'https://bench.example/mcp';

const issuer = await startIssuer();
using folder = temporaryFolder();
const servers = new AsyncDisposableStack();
const key = addUser(join(folder.path, 'keys'));
const oauth = ['--auth', 'oauth', '--oauth-issuer', issuer.url, '--oauth-audience', audience];
const token = await issuer.token();
const ways: Way[] = [
  { name: 'without auth', url: await start('open', []), bearer: () => null },
  { name: 'with a key', url: await start('keys', ['--auth', 'keys']), bearer: () => key },
  { name: 'with a token', url: await start('oauth', oauth), bearer: () => token },
];
// Each once: what was never seen has to have its signature checked.
const fresh = await Promise.all(Array.from({ length: rounds * callsEach + 1 }, () => issuer.token()));
ways.push({ name: 'with a new token for each call', url: ways[2]!.url, bearer: () => fresh.pop()! });

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const times = new Map<string, number[]>(ways.map(({ name }) => [name, []]));
for (const way of ways) await listFiles(way);
// In turns, so that whatever else the machine does falls on all of them.
for (let round = 0; round < rounds; round++)
  for (const way of ways) times.get(way.name)!.push(...(await timed(() => listFiles(way), callsEach)));

const base = median(times.get('without auth')!);
for (const [name, all] of times) {
  const p50 = median(all);
  if (name !== 'without auth')
    reportFigure(`auth: a call ${name}, ms more`, toDifferences(all, times.get('without auth')!));
  console.log(
    `  ${name.padEnd(32)} p50 ${p50.toFixed(3)} ms  ${name === 'without auth' ? '' : `adds ${(p50 - base).toFixed(3)} ms`}`,
  );
}
const most = Math.max(...['with a key', 'with a token'].map((name) => median(times.get(name)!) - base));
console.log(`  asked: at most ${asked} ms; ${most <= asked ? 'held' : 'NOT held'}`);
if (most > asked) process.exitCode = 1;
agent.destroy();
await servers.disposeAsync();
issuer.close();

interface Way {
  readonly name: string;
  readonly url: string;
  bearer(): string | null;
}

/** One call of MCP 2026-07-28, which needs no session. */
async function listFiles({ url, bearer }: Way): Promise<void> {
  const shown = bearer();
  const sent = request(`${url}/mcp?structured=1`, {
    method: 'POST',
    agent,
    headers: { ...headers, ...(shown === null ? {} : { Authorization: `Bearer ${shown}` }) },
  });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const text = Buffer.concat(await answer.toArray()).toString();
  if (answer.statusCode !== 200 || !text.includes('structuredContent'))
    throw new Error(`${answer.statusCode}: ${text}`);
}

async function start(name: string, flags: readonly string[]): Promise<string> {
  const words = [program, 'serve', '--port', '0', '--data', join(folder.path, name), '--sandbox', 'off'];
  const child = spawn(process.execPath, [...words, '--log-level', 'warn', ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  servers.adopt(child, async (it) => {
    it.kill('SIGTERM');
    await once(it, 'exit');
  });
  return listeningUrl(child);
}

async function listeningUrl(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /listening on (\S+)/.exec(line)?.[1];
    if (url) return url;
  }
  throw new Error('the program ended before it listened');
}

function addUser(data: string): string {
  const words = [program, 'user', 'add', 'bench', '--data', data];
  return execFileSync(process.execPath, words, { encoding: 'utf8' }).split('\n', 1)[0]!;
}

/** As much of an issuer as is asked here; the tests use a real one. */
async function startIssuer() {
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'bench', alg: 'RS256' }];
  const server = createServer((req, res) =>
    res.end(JSON.stringify(req.url === '/keys' ? { keys } : { issuer: url, jwks_uri: `${url}/keys` })),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const token = (): Promise<string> =>
    new SignJWT({ sub: 'bench', scope: 'files', jti: crypto.randomUUID() })
      .setProtectedHeader({ alg: 'RS256', kid: 'bench' })
      .setIssuer(url)
      .setAudience(audience)
      .setExpirationTime('1h')
      .sign(privateKey);
  return { url, token, close: () => server.close() };
}
