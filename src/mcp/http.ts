import { createMcpHandler, isLegacyRequest, type McpServerFactory } from '@modelcontextprotocol/server';
import type { SignedIn } from '../identity.ts';
import type { Log } from '../log.ts';
import { asAuthInfo } from './authentication.ts';
import { readBody } from './request-body.ts';
import { createSessionLane } from './sessions.ts';

export interface McpEndpointOptions {
  readonly factory: McpServerFactory;
  /** Where clients read how to get a token, or null where there is nothing to read. */
  readonly metadataUrl: () => string | null;
  readonly log: Log;
}

export interface McpEndpoint {
  /** Answers a request of somebody who has signed in, or of anybody (null) where nobody has to. */
  fetch(request: Request, who: SignedIn | null): Promise<Response>;
  /** How many sessions of older clients are open. */
  sessions(): number;
  close(): Promise<void>;
}

/** MCP over HTTP for every version in use: 2026-07-28 without sessions, the older ones with. */
export function createMcpEndpoint({ factory, metadataUrl, log }: McpEndpointOptions): McpEndpoint {
  const modern = createMcpHandler(factory, {
    legacy: 'reject',
    onerror: (error) => log.debug('mcp.rejected', { error }),
  });
  const legacy = createSessionLane(factory, log);
  return {
    async fetch(request, who) {
      const body = await readBody(request);
      if (body !== undefined && 'refusal' in body) return body.refusal;
      const options = { ...(who === null ? {} : { authInfo: asAuthInfo(who, metadataUrl()) }), ...body };
      if (await isLegacyRequest(request, body?.parsedBody))
        return legacy.fetch(request, who?.user ?? null, options);
      return modern.fetch(request, options);
    },
    sessions: legacy.count,
    async close() {
      await Promise.all([modern.close(), legacy.close()]);
    },
  };
}
