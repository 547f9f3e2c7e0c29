import assert from 'node:assert/strict';
import { describe, it, mock, test } from 'node:test';
import type { ServerContext } from '@modelcontextprotocol/server';
import { openDatabase } from '../../ports/database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../ports/database/postgres.testing.ts';
import { toAuthInfo, createStateCodec, sharedStateKey } from './asking.ts';

const local = { user: 'local' };
const askMs = 120_000;

/** As much of a request as the state of a call is bound to. */
function requestOf(user: string | null, method = 'tools/call'): ServerContext {
  const who = { user: user ?? '', scopes: [], signedInBy: 'key' as const, credential: 'x', expiresAt: null };
  const http = user === null ? {} : { http: { authInfo: toAuthInfo(who, null) } };
  return { mcpReq: { method }, ...http } as unknown as ServerContext;
}

test('the state of a call comes back from the user that it was given to, and from nobody else', async () => {
  const codec = createStateCodec(local, { askMs });
  const state = await codec.mint({ round: 1 }, requestOf('ada'));
  assert.deepEqual(await codec.verify(state, requestOf('ada')), { round: 1 });
  await assert.rejects(async () => codec.verify(state, requestOf('bob')));
  await assert.rejects(async () => codec.verify(state, requestOf(null)));
  await assert.rejects(async () => codec.verify(state, requestOf('ada', 'prompts/get')));
  await assert.rejects(async () => codec.verify(state, requestOf('local')));
});

test('what a client on this machine was given does not come back over HTTP, though the user is the same', async () => {
  const codec = createStateCodec(local, { askMs });
  const overHttp = { ...requestOf(null), http: {} } as ServerContext;
  const state = await codec.mint({ round: 1 }, requestOf(null));
  await assert.rejects(async () => codec.verify(state, overHttp));
  assert.deepEqual(await codec.verify(state, requestOf(null)), { round: 1 });
});

test('the state of a call lives longer than its client has to answer, however long that is', async (t) => {
  t.after(() => mock.timers.reset());
  mock.timers.enable({ apis: ['Date'], now: 1_790_000_000_000 });
  const codec = createStateCodec(local, { askMs: 3_600_000 });
  const state = await codec.mint({ round: 1 }, requestOf('ada'));
  mock.timers.tick(3_600_000 + 60_000);
  assert.deepEqual(await codec.verify(state, requestOf('ada')), { round: 1 });
  mock.timers.tick(600_000);
  await assert.rejects(async () => codec.verify(state, requestOf('ada')));
});

const postgres = await findPostgres();
const backends = {
  sqlite: { location: async () => ':memory:', skip: false as const },
  postgres: { location: () => postgres!.url(), skip: postgres === null ? NO_POSTGRES : (false as const) },
};

for (const [kind, { location, skip }] of Object.entries(backends))
  describe(`the key of the state, on ${kind}`, { skip }, () => {
    it('is one for all servers, also for those that start at once, and another for another database', async () => {
      const database = await openDatabase(await location());
      const other = await openDatabase(await location());
      try {
        const keys = await Promise.all(Array.from({ length: 8 }, () => sharedStateKey(database)));
        for (const key of keys) assert.deepEqual(Buffer.from(key), Buffer.from(keys[0]!));
        assert.notDeepEqual(Buffer.from(await sharedStateKey(other)), Buffer.from(keys[0]!));
        const [one, two] = keys.map((stateKey) => createStateCodec(local, { askMs, stateKey }));
        const state = await one!.mint({ round: 1 }, requestOf('ada'));
        assert.deepEqual(await two!.verify(state, requestOf('ada')), { round: 1 });
        await assert.rejects(async () => two!.verify(state, requestOf('bob')));
      } finally {
        await Promise.all([database.close(), other.close()]);
      }
    });
  });
