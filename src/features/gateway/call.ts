/**
 * One call of a tool on its server: progress, cancellation, the time limit, and the result as it is passed on. Which
 * connection it takes is decided in `connections.ts`, what is asked in between in `questions.ts`.
 */
import type { CallToolResult } from '@modelcontextprotocol/client';
import { WorkcrateError } from '../../platform/errors.ts';
import { exceedsBounds, resultBounds } from './bounds.ts';
import type { GatewayTool } from './catalog.ts';
import type { OpenUpstream } from './connections.ts';
import { hideSecretsIn, type ServerEntry } from './entry.ts';
import { toOfferedUri } from './names.ts';
import type { OpenCall } from './questions.ts';

/** However often a server reports progress. */
const maxGatewayCallMs = 24 * 3_600_000;

export async function callUpstream(
  { entry, connection, answerers }: OpenUpstream,
  { nameThere }: GatewayTool,
  input: Record<string, unknown>,
  call: OpenCall,
): Promise<CallToolResult> {
  call.signal.throwIfAborted();
  answerers.add(call.answer);
  try {
    const result = await connection.client.callTool(
      { name: nameThere, arguments: input },
      {
        signal: call.signal,
        timeout: entry.timeoutMs,
        maxTotalTimeout: Math.max(maxGatewayCallMs, entry.timeoutMs),
        resetTimeoutOnProgress: true,
        onprogress: ({ progress, total, message }) =>
          call.progress(
            progress,
            total ?? null,
            message === undefined ? undefined : hideSecretsIn(entry, message),
          ),
      },
    );
    return passOn(entry, result);
  } catch (error) {
    call.signal.throwIfAborted();
    throw connection.explain(error);
  } finally {
    answerers.delete(call.answer);
  }
}

/** The result with URIs that can be read here. What the server says of itself in `_meta` is not ours to repeat. */
function passOn(entry: ServerEntry, result: CallToolResult): CallToolResult {
  checkBounded(entry, result);
  const { content, structuredContent, isError } = hideSecretsIn(entry, result);
  return {
    content: content.map((block) => renameUris(entry, block)),
    ...(structuredContent === undefined ? {} : { structuredContent }),
    ...(isError === true ? { isError } : {}),
  };
}

/** What is too deep could not be written again, and what is too large would keep this process from all others. */
export function checkBounded(entry: ServerEntry, value: unknown): void {
  if (!exceedsBounds(value, resultBounds)) return;
  throw new WorkcrateError(
    'upstream_failed',
    `The answer of the server ${entry.name} behind the gateway is too large or nested too deeply. Ask for less.`,
  );
}

type ContentBlockOfCall = CallToolResult['content'][number];

export function renameUris(entry: ServerEntry, block: ContentBlockOfCall): ContentBlockOfCall {
  if (block.type === 'resource_link') return { ...block, uri: toOfferedUri(entry.name, block.uri) };
  if (block.type !== 'resource') return block;
  return { ...block, resource: { ...block.resource, uri: toOfferedUri(entry.name, block.resource.uri) } };
}
