import assert from 'node:assert/strict';
import { it } from 'node:test';
import { serve, temporaryFolder } from '../behaviour/cli/program.testing.ts';
import { noSandbox } from '../code.testing.ts';
import { eventually } from '../../src/platform/eventually.testing.ts';
import { connectByHand } from './by-hand.testing.ts';
import { openingOf, versions } from './messages.testing.ts';

const form = { elicitation: { form: {} } };

for (const version of ['2025-11-25', '2025-06-18'] as const) {
  it(`a question that is open at a stop is answered for the client, with MCP ${version}`, async () => {
    await using folder = await temporaryFolder();
    await using program = await serve(['--data', folder.path, '--drain-timeout', '2']);
    const client = await connectByHand(program.url, version, form);
    const ended = Promise.withResolvers<number | null>();
    const { last } = await client.call('read_client_file', { path: 'docs/a.txt', via: 'form' }, () => {
      ended.resolve(program.end('SIGTERM'));
      return null;
    });
    assert.equal(last['result']?._meta?.['workcrate/error']?.code, 'stopping', JSON.stringify(last));
    assert.equal(await ended.promise, 0);
  });

  it(`a stop does not wait for questions whose client has gone, with MCP ${version}`, async () => {
    await using folder = await temporaryFolder();
    await using program = await serve(['--data', folder.path, '--drain-timeout', '2']);
    const client = await connectByHand(program.url, version, form);
    const leaving = new AbortController();
    const params = { name: 'read_client_file', arguments: { path: 'docs/a.txt', via: 'form' } };
    const call = openingOf(version).request(2, 'tools/call', params);
    const reader = (await client.send(call, leaving.signal)).body!.pipeThrough(new TextDecoderStream());
    for await (const text of reader.values({ preventCancel: true }))
      if (text.includes('elicitation/create')) break;
    leaving.abort();
    assert.equal(await program.end('SIGTERM'), 0);
    assert.match(
      program.output.stderr,
      /"event":"tool.called".*"tool":"read_client_file".*"result":"stopping"/,
    );
  });
}

for (const version of versions)
  it(
    `a run that a stop cuts is answered and noted as cut, with MCP ${version}`,
    { skip: noSandbox },
    async () => {
      await using folder = await temporaryFolder();
      const env = { WORKCRATE_SANDBOX: 'auto' };
      await using program = await serve(['--data', folder.path, '--drain-timeout', '1'], { env });
      const client = await connectByHand(program.url, version, {});
      const called = client.call('execute_code', { language: 'bash', code: 'sleep 100' });
      await eventually(async () =>
        /^workcrate_runs\{state="running"\} 1$/m.test(await metricsOf(program.url)),
      );
      assert.equal(await program.end('SIGTERM'), 0);
      const { last } = await called;
      assert.equal(last['result']?.structuredContent?.end_reason, 'cancelled', JSON.stringify(last));
      assert.match(program.output.stderr, /"tool":"execute_code".*"result":"cancelled"/);
    },
  );

const metricsOf = async (url: string): Promise<string> => (await fetch(`${url}/metrics`)).text();
