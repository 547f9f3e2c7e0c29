import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerContext } from '@modelcontextprotocol/server';
import { asAuthInfo } from './authentication.ts';
import { createStateCodec } from './request-state.ts';

/** As much of a request as the state of a call is bound to. */
function requestOf(user: string | null, method = 'tools/call'): ServerContext {
  const who = { user: user ?? '', scopes: [], credential: 'x', expiresAt: null };
  const http = user === null ? {} : { http: { authInfo: asAuthInfo(who, null) } };
  return { mcpReq: { method }, ...http } as unknown as ServerContext;
}

test('A10: the state of a call comes back from the user that it was given to, and from nobody else', async () => {
  const codec = createStateCodec({ user: 'local' });
  const state = await codec.mint({ round: 1 }, requestOf('ada'));
  assert.deepEqual(await codec.verify(state, requestOf('ada')), { round: 1 });
  await assert.rejects(async () => codec.verify(state, requestOf('bob')));
  await assert.rejects(async () => codec.verify(state, requestOf(null)));
  await assert.rejects(async () => codec.verify(state, requestOf('ada', 'prompts/get')));
});
