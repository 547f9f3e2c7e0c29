import { createMcpHandler, isLegacyRequest, type McpServerFactory } from '@modelcontextprotocol/server';
import type { Log } from '../log.ts';
import { createSessionLane } from './sessions.ts';

export interface McpEndpoint {
  fetch(request: Request): Promise<Response>;
  close(): Promise<void>;
}

/** MCP over HTTP for every version in use: 2026-07-28 without sessions, the older ones with. */
export function createMcpEndpoint(factory: McpServerFactory, log: Log): McpEndpoint {
  const modern = createMcpHandler(factory, {
    legacy: 'reject',
    onerror: (error) => log.debug('mcp.rejected', { error }),
  });
  const legacy = createSessionLane(factory, log);
  return {
    fetch: async (request) =>
      (await isLegacyRequest(request)) ? legacy.fetch(request) : modern.fetch(request),
    async close() {
      await Promise.all([modern.close(), legacy.close()]);
    },
  };
}
