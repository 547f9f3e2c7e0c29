/**
 * Wraps what the SDK answers to a method. Used where the SDK has no hook: for calls that it refuses by itself, and for
 * the list of tools.
 */
import type { JSONRPCRequest, McpServer, Result, ServerContext } from '@modelcontextprotocol/server';

type Handler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

/**
 * Wraps the handler that the SDK has for a method. The SDK has no hook for this, so it is done in its private map:
 * decision 034 says why nothing else sees all refused calls. Throws when there is no such handler.
 */
export function wrapHandler({ server }: McpServer, method: string, wrap: (handle: Handler) => Handler): void {
  const handlers = server['_requestHandlers'] as Map<string, Handler> | undefined;
  const handle = handlers?.get(method);
  if (handle === undefined)
    throw new Error(`The MCP SDK has no handler for ${method} to wrap: see decision 034.`);
  handlers!.set(method, wrap(handle));
}
