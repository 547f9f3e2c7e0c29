import { randomBytes } from 'node:crypto';
import { createRequestStateCodec, type RequestStateCodec } from '@modelcontextprotocol/server';
import type { Caller } from '../identity.ts';

/**
 * A call that asks the client something gives it the state of the call to bring back. It is signed and bound
 * to the user and the method, so that it comes back as it was given or is refused; the key ends with the process.
 */
export function createStateCodec({ user }: Caller): RequestStateCodec {
  return createRequestStateCodec({
    key: randomBytes(32),
    bind: ({ mcpReq }) => `${user}\0${mcpReq.method}`,
  });
}
