/**
 * Answers plain calls of tools (`mcp/plain-calls.ts`) on `node:http` itself: the requests and responses of the web around
 * it took as long as the call. Every other request is left as it was for the app.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { smallMessage, type McpEndpoint } from '../mcp/http.ts';
import type { PlainCall } from '../mcp/plain-calls.ts';
import type { Auth } from './auth.ts';

export interface PlainCallOptions {
  readonly mcp: Pick<McpEndpoint, 'readPlainCall' | 'aliveMs'>;
  readonly auth: Pick<Auth, 'getCaller'>;
}

/** Answers a request if it is a plain call; resolves with false if it is not, and has still to be answered. */
export async function answerPlainCall(
  { mcp, auth }: PlainCallOptions,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<boolean> {
  if (!mayBePlainCall(req)) return false;
  const body = await readBody(req);
  // The client has gone.
  if (body === null) return true;
  const message = parseJson(body);
  const who = auth.getCaller({ incoming: req });
  const request = { url: req.url!, headers: req.headers, message, who };
  const call = message === undefined ? null : await mcp.readPlainCall(request);
  if (call === null) {
    // Where the framework looks for a body that has been read.
    Object.assign(req, { rawBody: body });
    return false;
  }
  await answerCall(call, res, mcp.aliveMs);
  return true;
}

/** Whether a request is for `/mcp`, in the usual spelling. */
export const isForMcp = ({ url }: IncomingMessage): boolean =>
  url === '/mcp' || url?.startsWith('/mcp?') === true;

function mayBePlainCall(req: IncomingMessage): boolean {
  const { method, headers } = req;
  return (
    method === 'POST' &&
    isForMcp(req) &&
    headers['mcp-method'] === 'tools/call' &&
    headers['content-type'] === 'application/json' &&
    takesBoth(headers.accept ?? '') &&
    Number(headers['content-length'] ?? Number.NaN) <= smallMessage
  );
}

const takesBoth = (accept: string): boolean =>
  accept.includes('application/json') && accept.includes('text/event-stream');

/** The whole body; null if the client goes away before its end. */
function readBody(req: IncomingMessage): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    req.on('data', (part: Buffer) => parts.push(part));
    req.once('end', () => resolve(parts.length === 1 ? parts[0]! : Buffer.concat(parts)));
    for (const end of ['error', 'close']) req.once(end, () => resolve(null));
  });
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    // The app says what is wrong with it.
    return undefined;
  }
}

/** Some clients give up on a call that has no headers after a minute. Most answers are there before these are sent. */
const streamAfterMs = 100;

const streamHeaders = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
};

async function answerCall(call: PlainCall, res: ServerResponse, aliveMs: number): Promise<void> {
  let alive: NodeJS.Timeout | undefined;
  const timer = setTimeout(() => {
    res.writeHead(200, streamHeaders).flushHeaders();
    alive = setInterval(() => res.write(': keepalive\n\n'), aliveMs);
  }, streamAfterMs);
  const abandon = (): void => call.abandon();
  res.once('close', abandon);
  try {
    const event = `event: message\ndata: ${JSON.stringify(await call.answer())}\n\n`;
    if (!res.headersSent)
      res.writeHead(200, { ...streamHeaders, 'Content-Length': Buffer.byteLength(event) });
    res.end(event);
  } finally {
    res.off('close', abandon);
    clearTimeout(timer);
    clearInterval(alive);
  }
}
