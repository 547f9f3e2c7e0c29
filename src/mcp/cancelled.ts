import type { Transport } from '@modelcontextprotocol/server';
import type { Log } from '../log.ts';
import { asRecord } from './refused.ts';

/** As the protocol of language servers has it: MCP has no code for this. */
const cancelledCode = -32_800;

/**
 * Ends the stream of a call that its client has cancelled. The SDK neither answers such a call nor ends its stream, so
 * that each would cost a connection for as long as the session lasts. It is ended by an answer, which a client that has
 * cancelled is to ignore: without one, the official client would take up the stream again and again.
 */
export function endCancelled(transport: Transport, log: Log): void {
  const receive = transport.onmessage;
  transport.onmessage = (message, extra) => {
    receive?.(message, extra);
    if (!('method' in message) || message.method !== 'notifications/cancelled') return;
    const id = asRecord(message.params)['requestId'];
    if (typeof id !== 'string' && typeof id !== 'number') return;
    const error = { code: cancelledCode, message: 'The call was cancelled.' };
    // There is none to end where the call has been answered meanwhile.
    transport
      .send({ jsonrpc: '2.0', id, error })
      .catch((cause: unknown) => log.debug('mcp.rejected', { error: cause }));
  };
}
