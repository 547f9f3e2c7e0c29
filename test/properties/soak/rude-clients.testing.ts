import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { send, whenFree } from '../../behaviour/backends/upload.testing.ts';
import { anyOf } from '../durability/load.testing.ts';
import { callTool, pathOf, type SoakAction } from './actions.testing.ts';

/** How long a client that vanishes stays at the most. */
const vanishMs = 300;

/** Sends the head and some bytes of a request, or does not read its answer, and then is gone. */
async function vanishFrom(url: string, method: 'GET' | 'PUT', ms: number): Promise<void> {
  const headers = method === 'PUT' ? { 'Content-Length': 1_000_000 } : {};
  const connection = request(url, { method, headers });
  connection.on('error', () => {});
  connection.on('response', (answer) => answer.on('error', () => {}).pause());
  if (method === 'PUT') connection.write(randomBytes(50_000));
  else connection.end();
  await pause(ms);
  connection.destroy();
}

const vanishInUpload: SoakAction = async (scene) => {
  const { uploadUrl } = await callTool(scene, 'request_upload', { filename: 'vanishing.bin' });
  const url = scene.program.url + pathOf(uploadUrl);
  await vanishFrom(url, 'PUT', scene.random() * vanishMs);
  // Withdrawn, so that a long soak does not come to the limit of open uploads.
  const withdrawn = await whenFree(() => send('DELETE', url, null, { 'Tus-Resumable': '1.0.0' }));
  if (withdrawn.status !== 204) throw new Error(`an upload was not withdrawn: ${withdrawn.status}`);
};

const vanishInDownload: SoakAction = async ({ program, ledger, random }) => {
  const path = anyOf([...ledger.links.keys()], random);
  if (path !== null) await vanishFrom(program.url + path, 'GET', random() * vanishMs);
};

const endlessRun = {
  name: 'execute_code',
  arguments: { language: 'bash', code: "trap '' TERM; (setsid sleep 300 &); sleep 20" },
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'soak', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  },
};

/** A call whose connection is cut while its code runs, which cancels the run. */
const vanishInRun: SoakAction = async ({ program, random }) => {
  const gone = new AbortController();
  const asked = fetch(`${program.url}/mcp`, {
    method: 'POST',
    signal: gone.signal,
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': 'execute_code',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: endlessRun }),
  }).then((answer) => answer.text());
  await Promise.race([asked.catch(() => null), pause(50 + random() * vanishMs)]);
  gone.abort();
  await asked.catch(() => null);
};

/** Takes what comes a piece at a time, with a pause after each. */
const readSlowly: SoakAction = async ({ program, ledger, random }) => {
  const path = anyOf([...ledger.links.keys()], random);
  if (path === null) return;
  const answer = await fetch(program.url + path);
  for await (const _ of answer.body!) await pause(20);
};

/** Clients that are slow, or are gone in the middle of what they asked for; each with how often it comes. */
export const rudeActions: Readonly<Record<string, readonly [weight: number, action: SoakAction]>> = {
  'vanish in an upload': [4, vanishInUpload],
  'vanish in a download': [4, vanishInDownload],
  'vanish in a run': [2, vanishInRun],
  'read slowly': [3, readSlowly],
};
