import { Client, InMemoryTransport, type CallToolResult } from '@modelcontextprotocol/client';
import { createServerFactory } from '../../surfaces/mcp/server.ts';
import { createLog } from '../../platform/observability/log.ts';
import { createMetrics } from '../../platform/observability/metrics.ts';
import { ada, openRoom, type RoomOptions } from './room.testing.ts';

/** The tools behind a real MCP server and client. */
export async function openTools({
  sharesMachine = false,
  clientName = 'tools',
  ...options
}: RoomOptions & { sharesMachine?: boolean; clientName?: string } = {}) {
  await using opened = new AsyncDisposableStack();
  const room = opened.use(await openRoom(options));
  const factory = createServerFactory({
    structured: true,
    tools: room.tools,
    metrics: createMetrics(),
    log: createLog('off'),
    sharesMachine,
    caller: ada,
  });
  const [near, far] = InMemoryTransport.createLinkedPair();
  const server = await factory({} as Parameters<typeof factory>[0]);
  await server.connect(far);
  const client = new Client({ name: clientName, version: '1' });
  await client.connect(near);
  opened.defer(() => client.close());
  const all = opened.move();
  return {
    room,
    client,
    async call(name: string, args: Record<string, unknown>, how: Parameters<Client['callTool']>[1] = {}) {
      const result = (await client.callTool({ name, arguments: args }, how)) as CallToolResult;
      const [first] = result.content;
      // oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
      const data = result.structuredContent as any;
      return {
        result,
        data,
        text: first?.type === 'text' ? first.text : '',
        failed: result.isError === true,
      };
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
