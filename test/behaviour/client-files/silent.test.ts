import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ElicitResult, Progress } from '@modelcontextprotocol/client';
import { connect } from './clients.testing.ts';
import { serve, type Served } from './servers.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

const url = { elicitation: { url: {} } };
const form = { elicitation: { form: {} } };
const withPages = ['2026-07-28', '2025-11-25'] as const;
const olderVersions = ['2025-11-25', '2025-06-18'] as const;

for (const transport of ['HTTP', 'stdio'] as const)
  describe(`a client over ${transport} that goes silent`, () => {
    let served: Served;
    let patient: Served;
    before(async () => {
      served = await serve(transport, { clientTimeout: 1 });
      patient = await serve(transport, { clientTimeout: 600 });
    });
    after(async () => {
      await served?.[Symbol.asyncDispose]();
      await patient?.[Symbol.asyncDispose]();
    });

    for (const version of olderVersions)
      it(`never answers: the call ends as client_timeout and nothing is kept, over MCP ${version}`, async () => {
        const { promise: forever, resolve } = Promise.withResolvers<ElicitResult>();
        await using client = await connect(served, {
          version,
          capabilities: form,
          manners: { form: () => forever },
        });
        const path = `docs/never-${version}.txt`;
        const { code, text } = await client.call('read_client_file', { path, via: 'form' });
        assert.equal(code, 'client_timeout', text);
        const [line] = await served.audited(
          ({ subject, result }) => subject === path && result === 'client_timeout',
        );
        assert.equal(line!.level, 'info');
        // Too late: nobody waits for it.
        resolve({ action: 'accept', content: { content: 'late' } });
        assert.equal((await client.call('guide_cache_file', { forget: path })).data?.forgot, false);
        recordProof('E6:timeout-drops-partial-results');
      });

    for (const version of olderVersions)
      it(`goes away while it is asked: the call ends, and nothing is kept, over MCP ${version}`, async () => {
        const { promise: wasAsked, resolve } = Promise.withResolvers<void>();
        const manners = {
          form() {
            resolve();
            return new Promise<ElicitResult>(() => {});
          },
        };
        const path = `docs/gone-${version}.txt`;
        const client = await connect(served, { version, capabilities: form, manners });
        const call = client.call('read_client_file', { path, via: 'form' });
        await wasAsked;
        await Promise.all([assert.rejects(call), client[Symbol.asyncDispose]()]);
        await using next = await connect(served, { version, capabilities: {}, manners: {} });
        assert.equal((await next.call('guide_cache_file', { forget: path })).data?.forgot, false);
        assert.equal((await next.call('read_client_file', { path })).data?.status, 'offered');
      });

    for (const version of withPages)
      it(`goes away while its file is waited for: the wait ends, and it is noted, over MCP ${version}`, async () => {
        const path = `docs/waited-${version}.txt`;
        const leaving = new AbortController();
        const manners = { url: async () => ({ action: 'accept' as const }) };
        await using client = await connect(patient, { version, capabilities: url, manners });
        const params = { name: 'read_client_file', arguments: { path, via: 'url' } };
        // Asked is not yet waited for: in 2026-07-28 the answer comes by a call of its own.
        const { promise: isWaitedFor, resolve } = Promise.withResolvers<void>();
        const onprogress = ({ message }: Progress) => message === 'waiting for the file' && resolve();
        const call = client.client.callTool(params, { signal: leaving.signal, onprogress });
        const refused = assert.rejects(call);
        await isWaitedFor;
        leaving.abort();
        await refused;
        const [line] = await patient.audited(
          ({ subject, result }) => subject === path && result === 'cancelled',
        );
        assert.equal(line!.operation, 'read_client_file');
        assert.equal((await client.call('guide_cache_file', { forget: path })).data?.forgot, false);
      });
  });
