import { setTimeout as delay } from 'node:timers/promises';
import type { CallToolResult, McpServer, ServerContext } from '@modelcontextprotocol/server';
import { saying } from './samples.ts';

/** Tools that tell the client something before they answer. */
export function addReportingTools(server: McpServer): void {
  server.server.registerCapabilities({ logging: {} });
  server.registerTool('test_tool_with_logging', { description: 'Logs three times' }, logging(50));
  // The suite waits half a second for this one.
  server.registerTool('test_logging_tool', { description: 'Logs three times' }, logging(0));
  server.registerTool(
    'test_tool_with_progress',
    { description: 'Reports 0, 50 and 100 of 100' },
    progressing,
  );
  server.registerTool('test_reconnection', { description: 'Closes its stream before it answers' }, hangingUp);
}

function logging(pauseMs: number) {
  return async ({ mcpReq }: ServerContext): Promise<CallToolResult> => {
    for (const step of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await mcpReq.log('info', step);
      await delay(pauseMs);
    }
    return saying('Logged three messages.');
  };
}

async function progressing({ mcpReq }: ServerContext): Promise<CallToolResult> {
  const progressToken = mcpReq._meta?.progressToken;
  for (const progress of [0, 50, 100]) {
    if (progressToken !== undefined)
      await mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 100 },
      });
    await delay(50);
  }
  return saying('Reported three times.');
}

async function hangingUp({ http }: ServerContext): Promise<CallToolResult> {
  await delay(50);
  http?.closeSSE?.();
  await delay(100);
  return saying('This answer was fetched after a reconnection.');
}
