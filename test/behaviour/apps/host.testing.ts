/**
 * A host of MCP Apps in a real browser: the bridge of `@modelcontextprotocol/ext-apps`, a view in a sandboxed frame with
 * the policy that hosts apply by default, and a real MCP client that speaks to the server for both.
 */
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client';
import type { BrowserContextOptions, Frame, Page } from 'playwright-core';
import type { OpenBrowser } from '../pages/browser.testing.ts';

/** As the specification of 2026-01-26 has it, for a view that asks for nothing more. */
const defaultPolicy =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data:; media-src 'self' data:; connect-src 'none'";

export const viewCapabilities = {
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
};

/** A client that shows views. */
export async function connectHost(url: string, key?: string): Promise<Client> {
  const client = new Client({ name: 'host', version: '1' }, { capabilities: viewCapabilities });
  const requestInit = key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  return client;
}

const modules = join(import.meta.dirname, '../../../node_modules');

/** What the bridge needs, as the browser finds it. */
const imports = {
  '@modelcontextprotocol/client': '@modelcontextprotocol/client/dist/index.mjs',
  '@modelcontextprotocol/client/_shims': '@modelcontextprotocol/client/dist/shimsBrowser.mjs',
  '@modelcontextprotocol/core': '@modelcontextprotocol/core/dist/index.mjs',
  '@modelcontextprotocol/core/internal': '@modelcontextprotocol/core/dist/internal.mjs',
  eventsource: 'eventsource/dist/index.js',
  'eventsource-parser': 'eventsource-parser/dist/index.js',
  'eventsource-parser/stream': 'eventsource-parser/dist/stream.js',
  'pkce-challenge': 'pkce-challenge/dist/index.browser.js',
  'zod/v4': 'zod/v4/index.js',
};

/** Looked up when a host opens, so that who needs only a client can do without it. */
function toImportMap(): string {
  const bridge = fileURLToPath(import.meta.resolve('@modelcontextprotocol/ext-apps/app-bridge'));
  const all = { ...imports, '@modelcontextprotocol/ext-apps/app-bridge': relative(modules, bridge) };
  const addresses = Object.entries(all).map(([name, path]) => [name, `/modules/${path}`]);
  return JSON.stringify({ imports: Object.fromEntries(addresses) });
}

export interface HostOptions {
  readonly theme?: 'light' | 'dark';
  /** What the host can do; all of it by default. */
  readonly capabilities?: Record<string, object>;
  readonly context?: BrowserContextOptions;
  readonly key?: string;
  /** Another client instead of one that shows views. */
  readonly client?: Client;
  /** Changes what the host answers to a call of the view. */
  readonly answer?: (name: string, result: CallToolResult) => unknown;
}

const everything = { serverTools: {}, openLinks: {}, downloadFile: {}, message: { text: {} } };

const toHostPage = ({ theme = 'light', capabilities = everything }: HostOptions): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Host</title><link rel="icon" href="data:,">
<style>
  body { margin: 0; padding: 24px; font: 16px system-ui; background: ${theme === 'dark' ? '#0e1011' : '#ecebe7'}; }
  iframe { display: block; width: 100%; max-width: 760px; height: 40px; margin: auto; border: 1px solid #8884; border-radius: 12px; }
</style>
<script type="importmap">${toImportMap()}</script></head>
<body><iframe sandbox="allow-scripts" title="View"></iframe>
<script type="module">
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';
const frame = document.querySelector('iframe');
const bridge = new AppBridge(null, { name: 'host', version: '1' }, ${JSON.stringify(capabilities)}, { hostContext: { theme: '${theme}', displayMode: 'inline' } });
bridge.oncalltool = (params) => window.callServer(params);
bridge.onopenlink = async ({ url }) => { await window.noteRequest(['open', url]); return {}; };
bridge.ondownloadfile = async ({ contents }) => { await window.noteRequest(['download', contents]); return {}; };
bridge.onmessage = async ({ content }) => { await window.noteRequest(['message', content]); return {}; };
bridge.onsizechange = ({ height }) => { if (height !== undefined) frame.style.height = height + 'px'; };
const ready = new Promise((resolve) => { bridge.oninitialized = () => resolve(); });
window.host = { bridge, ready };
await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
frame.src = '/view';
</script></body></html>`;

export interface OpenHost extends AsyncDisposable {
  readonly page: Page;
  /** What the browser complained about, in the page or in the view. */
  readonly complaints: string[];
  /** What the view asked the host for: links to open, files to download, messages. */
  readonly requests: [kind: string, what: unknown][];
  /** The tools that the view called. */
  readonly calls: { readonly name: string; readonly arguments?: Record<string, unknown> }[];
  readonly client: Client;
  /** Calls a tool as a model would, and shows its view with the answer. */
  show(tool: string, input: Record<string, unknown>): Promise<{ view: Frame; result: CallToolResult }>;
  /** Shows a view with any answer. */
  showAnswer(uri: string, input: Record<string, unknown>, result: unknown): Promise<Frame>;
  setTheme(theme: 'light' | 'dark'): Promise<void>;
}

export async function openHost(
  browser: OpenBrowser,
  url: string,
  options: HostOptions = {},
): Promise<OpenHost> {
  await using cleaning = new AsyncDisposableStack();
  const client = cleaning.adopt(options.client ?? (await connectHost(url, options.key)), (it) => it.close());
  let view = '';
  const served = createServer((req, res) => {
    void answerHostRequest(req, res, { page: toHostPage(options), view });
  });
  await new Promise<void>((resolve) => served.listen(0, '127.0.0.1', resolve));
  cleaning.defer(() => void (served.closeAllConnections(), served.close()));
  const base = `http://127.0.0.1:${(served.address() as AddressInfo).port}`;
  const viewport = { width: 820, height: 900 };
  const { page, complaints } = await browser.open({ viewport, ...options.context });
  cleaning.defer(() => page.context().close());
  const [requests, calls]: [OpenHost['requests'], OpenHost['calls'][number][]] = [[], []];
  await page.exposeFunction('callServer', async (params: OpenHost['calls'][number]) => {
    calls.push(params);
    const result = await client.callTool(params);
    return options.answer === undefined ? result : options.answer(params.name, result);
  });
  await page.exposeFunction('noteRequest', (request: [string, unknown]) => void requests.push(request));

  async function openView(uri: string): Promise<Frame> {
    const { contents } = await client.readResource({ uri });
    view = (contents[0] as { text: string }).text;
    await page.goto(base);
    await page.waitForFunction('window.host');
    await page.evaluate('host.ready');
    return page.frames().find((frame) => frame.url() === `${base}/view`)!;
  }

  async function showAnswer(uri: string, input: Record<string, unknown>, result: unknown): Promise<Frame> {
    const frame = await openView(uri);
    await send(page, input, result);
    return frame;
  }

  const all = cleaning.move();
  return {
    page,
    complaints,
    requests,
    calls,
    client,
    showAnswer,
    async show(tool, input) {
      const uri = await findView(client, tool);
      const result = await client.callTool({ name: tool, arguments: input });
      return { view: await showAnswer(uri, input, result), result };
    },
    setTheme: (theme) => page.evaluate(`host.bridge.setHostContext({ theme: '${theme}' })`),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

const send = (page: Page, input: unknown, result: unknown): Promise<unknown> =>
  page.evaluate(
    `host.bridge.sendToolInput({ arguments: ${JSON.stringify(input)} }).then(() => host.bridge.sendToolResult(${JSON.stringify(result)}))`,
  );

/** Where a host looks for the view of a tool. */
async function findView(client: Client, tool: string): Promise<string> {
  const { tools } = await client.listTools();
  const { ui } = tools.find(({ name }) => name === tool)!._meta as { ui: { resourceUri: string } };
  return ui.resourceUri;
}

async function answerHostRequest(
  req: IncomingMessage,
  res: ServerResponse,
  { page, view }: { readonly page: string; readonly view: string },
): Promise<void> {
  const path = decodeURIComponent(new URL(req.url!, 'http://unused').pathname);
  if (path === '/view')
    return void res
      .writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': defaultPolicy,
      })
      .end(view);
  if (!path.startsWith('/modules/'))
    return void res.writeHead(200, { 'content-type': 'text/html' }).end(page);
  const bytes = await readFile(join(modules, normalize(path.slice('/modules'.length))));
  res.writeHead(200, { 'content-type': 'text/javascript' }).end(bytes);
}
