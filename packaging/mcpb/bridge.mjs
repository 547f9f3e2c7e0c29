/**
 * The program of the .mcpb bundle: passes MCP messages between stdin and stdout of a desktop app and a Workcrate server
 * over HTTP. Plain JavaScript for Node 20 without packages, since the app brings no other. It interprets no message
 * beyond what the transport needs: the revision, the session, and which request was cancelled.
 */
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';

/** An app may leave the place of a setting that was not filled in as it is. */
const readSetting = (name) => {
  const value = process.env[name] ?? '';
  return value.startsWith('${') ? '' : value.trim();
};

const server = (readSetting('WORKCRATE_URL') || 'http://127.0.0.1:9180').replace(/\/+$/, '');
const url = server.endsWith('/mcp') ? server : `${server}/mcp`;
const key = readSetting('WORKCRATE_KEY');

/** Of the older revisions: the session, its revision, and the handshake, which is repeated after a restart. */
const session = { id: null, revision: null, handshake: null };

/** Requests under way, to be cancelled. */
const pending = new Map();

const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const getRevision = (message) => message.params?._meta?.['io.modelcontextprotocol/protocolVersion'];

function buildHeaders(message) {
  const revision = getRevision(message) ?? session.revision;
  const name = message.params?.name ?? message.params?.uri;
  return {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    ...(key === '' ? {} : { Authorization: `Bearer ${key}` }),
    ...(revision ? { 'MCP-Protocol-Version': revision } : {}),
    ...(getRevision(message) ? { 'Mcp-Method': message.method } : {}),
    ...(getRevision(message) && typeof name === 'string' ? { 'Mcp-Name': encodeHeader(name) } : {}),
    ...(session.id && !getRevision(message) ? { 'Mcp-Session-Id': session.id } : {}),
  };
}

const encodeHeader = (text) =>
  /^[\x20-\x7e]*$/.test(text) ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;

async function post(message, signal) {
  const body = JSON.stringify(message);
  return fetch(url, { method: 'POST', headers: buildHeaders(message), body, signal });
}

/** Sends one message and passes on what is answered. */
async function forward(message) {
  const isRequest = message.id !== undefined && message.method !== undefined;
  const abort = new AbortController();
  if (isRequest) pending.set(message.id, abort);
  try {
    let answer = await post(message, abort.signal);
    if (answer.status === 404 && session.id !== null && message.method !== 'initialize') {
      await startSessionAgain();
      answer = await post(message, abort.signal);
    }
    await passOn(answer, (one) => {
      noteHandshake(message, one, answer);
      send(one);
    });
    if (message.method === 'notifications/initialized') void listen();
  } catch (error) {
    if (isRequest && !abort.signal.aborted) send(toError(message.id, describeFailure(error)));
  } finally {
    pending.delete(message.id);
  }
}

/** What a server answered, as JSON or as a stream of events. A message that has no answer gets 202. */
async function passOn(answer, take) {
  const type = answer.headers.get('content-type') ?? '';
  if (answer.status === 401) throw new Error('key');
  if (type.startsWith('text/event-stream'))
    for await (const message of readEvents(answer.body)) take(message);
  else if (type.startsWith('application/json')) take(await answer.json());
  else if (answer.status !== 202) throw new Error(`it answered HTTP ${answer.status}`);
}

async function* readEvents(body) {
  let data = [];
  for await (const line of createInterface({ input: Readable.fromWeb(body), crlfDelay: Infinity })) {
    if (line.startsWith('data:')) data.push(line.slice('data:'.length).trimStart());
    if (line !== '' || data.length === 0) continue;
    const text = data.join('\n');
    data = [];
    if (text !== '') yield JSON.parse(text);
  }
}

function noteHandshake(request, message, answer) {
  if (request.method !== 'initialize' || message.result === undefined) return;
  session.handshake = request;
  session.revision = message.result.protocolVersion;
  session.id = answer.headers.get('mcp-session-id');
}

/** A server that was started again has forgotten its sessions. */
async function startSessionAgain() {
  const request = session.handshake;
  session.id = null;
  const answer = await post(request);
  await passOn(answer, (message) => noteHandshake(request, message, answer));
  await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  void listen();
}

/** What the server sends of its own accord comes on a stream of its own, where it has one. */
async function listen() {
  if (session.id === null) return;
  const headers = { ...buildHeaders({}), Accept: 'text/event-stream' };
  try {
    const answer = await fetch(url, { headers });
    if (answer.ok) await passOn(answer, send);
  } catch {
    // The next request says what is wrong.
  }
}

function describeFailure(error) {
  if (error.message === 'key')
    return `The Workcrate at ${server} asks for a key. Put yours into the settings of this extension; npx workcrate user add NAME makes one.`;
  const reason = error.cause?.code ?? error.cause?.message ?? error.message;
  return `No Workcrate answers at ${server} (${reason}). Start one with: npx workcrate serve. If yours is elsewhere, set its URL in the settings of this extension.`;
}

const toError = (id, message) => ({ jsonrpc: '2.0', id, error: { code: -32000, message } });

/** Over HTTP, who closes the stream of a request cancels it; sessions of older revisions are told in words. */
async function cancel(message) {
  const id = message.params?.requestId;
  if (session.id !== null) return forward(message);
  return pending.get(id)?.abort();
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (line.trim() === '') continue;
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    send({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error: the line is no JSON.' } });
    continue;
  }
  if (message.method === 'notifications/cancelled') await cancel(message);
  // A session has to be there before it is used; requests do not wait for each other.
  else if (message.id === undefined || message.method === 'initialize') await forward(message);
  else void forward(message);
}
// The app has gone, and reads no answers.
process.exit(0);
