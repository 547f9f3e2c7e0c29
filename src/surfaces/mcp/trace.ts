/**
 * Reads which trace or agent a client says that its call belongs to, for the record of what the call ran. It is what the
 * client claims, and decides nothing.
 */
import type { ServerContext } from '@modelcontextprotocol/server';
import { readTraceId } from '../../platform/observability/tracing.ts';
import { withoutSecrets } from '../../platform/text/secrets.ts';

/** For clients that have no W3C trace: any id of the agent or the conversation. */
const traceMetaKey = 'workcrate/trace';

/** An id that can be printed: nothing in it can pass for another line. */
const traceForm = /^[\w.:/@+-]{1,128}$/;

/** The trace id of `traceparent` in `_meta` or in the headers, or what the client gave by our own key. */
export function readTrace({ mcpReq, http }: Pick<ServerContext, 'mcpReq' | 'http'>): string | null {
  const meta: Readonly<Record<string, unknown>> = mcpReq._meta ?? {};
  const named = readTraceId(meta['traceparent']) ?? readTraceId(http?.req?.headers.get('traceparent'));
  if (named !== null) return named;
  const own = meta[traceMetaKey];
  return typeof own === 'string' && traceForm.test(own) ? withoutSecrets(own) : null;
}
