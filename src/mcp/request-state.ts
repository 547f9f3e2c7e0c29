import { randomBytes } from 'node:crypto';
import { createRequestStateCodec, type RequestStateCodec } from '@modelcontextprotocol/server';
import type { Caller } from '../identity.ts';
import { callerOf } from './authentication.ts';

/**
 * A call that asks the client something gives it the state of the call to bring back. It is signed and bound
 * to the user and the method, so that it comes back as it was given or is refused; the key ends with the process.
 */
export function createStateCodec(otherwise: Caller): RequestStateCodec {
  return createRequestStateCodec({
    key: randomBytes(32),
    bind: (context) => `${callerOf(context, otherwise).user}\0${context.mcpReq.method}`,
  });
}
