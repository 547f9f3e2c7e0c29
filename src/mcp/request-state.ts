import { randomBytes } from 'node:crypto';
import { createRequestStateCodec, type RequestStateCodec } from '@modelcontextprotocol/server';
import type { Queries } from '../database/database.ts';
import type { Caller } from '../identity.ts';
import { callerOf } from './authentication.ts';

export interface StateTerms {
  /** Of all servers that may get the state back; where nobody gives one, it ends with this process. */
  readonly stateKey?: Uint8Array | undefined;
  /** How long a client has to answer. */
  readonly askMs: number;
}

/** Whoever answers too late is told so by the tool, which knows what was asked. */
const graceSeconds = 600;

/**
 * A call that asks the client something gives it the state of the call to bring back. It is signed and bound
 * to the user, the method and the transport, so that it comes back as it was given or is refused.
 */
export function createStateCodec(otherwise: Caller, { stateKey, askMs }: StateTerms): RequestStateCodec {
  return createRequestStateCodec({
    key: stateKey ?? randomBytes(32),
    ttlSeconds: Math.ceil(askMs / 1000) + graceSeconds,
    bind(context) {
      const way = context.http === undefined ? 'stdio' : 'http';
      return [callerOf(context, otherwise).user, context.mcpReq.method, way].join('\0');
    },
  });
}

/** The key that all servers on one database share. The row that is there first is everybody's. */
export async function sharedStateKey(database: Queries): Promise<Uint8Array> {
  await database.query(
    "INSERT INTO shared_keys (name, value) VALUES ('request-state', ?) ON CONFLICT DO NOTHING",
    randomBytes(32),
  );
  const [row] = await database.query<{ value: Uint8Array }>(
    "SELECT value FROM shared_keys WHERE name = 'request-state'",
  );
  return row!.value;
}
