import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface Result {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent?: Record<string, unknown>;
}

interface OldClient {
  connect(transport: unknown): Promise<void>;
  listTools(): Promise<{ tools: unknown[] }>;
  callTool(call: { name: string; arguments: object }): Promise<Result>;
  close(): Promise<void>;
}
interface OldSdk {
  readonly Client: new (info: { name: string; version: string }) => OldClient;
  readonly StreamableHTTPClientTransport: new (url: URL) => unknown;
}

/** A client of the MCP SDK of 2025, which most programs are still built with. It is not among our packages. */
export async function connectOldClient(packages: string, url: string): Promise<OldClient & AsyncDisposable> {
  const folder = join(packages, '@modelcontextprotocol/sdk/dist/esm/client');
  const load = async (name: string): Promise<OldSdk> =>
    (await import(pathToFileURL(join(folder, name)).href)) as OldSdk;
  const { Client } = await load('index.js');
  const { StreamableHTTPClientTransport } = await load('streamableHttp.js');
  const client = new Client({ name: 'old', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}
