import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { connectBy } from '../../behaviour/client-files/clients.testing.ts';
import { noSandbox, useCodeServer } from '../../code.testing.ts';
import { argumentsOf, command, environment, temporaryFolder } from '../../conformance/cli.testing.ts';

const versions = ['2026-07-28', '2025-11-25'] as const;
const manners = { capabilities: {}, manners: {} };
const [batches, batchSize] = [5, 20];

/** The same numbers in every run of the tests. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('runs whose connection is cut', { skip: noSandbox }, () => {
  // A client that gives up after a minute, and a call that is answered before that, both scaled down.
  const server = useCodeServer({ detachAfter: 1, orphanGrace: 60 });
  const random = createRandom(17);

  /** Begins a run and cuts the connection at a random moment; some are in the background, some are detached. */
  async function beginAndCut(number: number): Promise<void> {
    const transport = new StreamableHTTPClientTransport(new URL(`${server().url}/mcp`));
    const { client } = await connectBy(transport, { version: versions[number % 2]!, ...manners });
    const seconds = number % 10 === 0 ? 1.3 : 0.2 + random() * 0.4;
    const code = `echo begin-${number}-; sleep ${seconds.toFixed(2)}; echo end-${number}-`;
    const input = { language: 'bash', code, background: number % 5 === 1 };
    const calling = client.callTool({ name: 'execute_code', arguments: input }).catch(() => null);
    await Promise.race([calling, pause(50 + random() * 1300)]);
    await client.close();
    await calling;
  }

  it('of 100 none is lost: each one that began ends by itself, with all of its output', async () => {
    for (let batch = 0; batch < batches; batch++)
      await Promise.all(Array.from({ length: batchSize }, (_, at) => beginAndCut(batch * batchSize + at)));
    const ids = await listRuns();
    for (const execution_id of ids) {
      const { data } = await server().call('get_execution', { execution_id, wait_ms: 50_000 });
      const [, number] = /begin-(\d+)-/.exec(data.code)!;
      assert.equal(data.end_reason, 'exit', JSON.stringify(data));
      assert.equal(data.stdout, `begin-${number}-\nend-${number}-\n`);
    }
    assert.ok(ids.length > 80, `only ${ids.length} of 100 began before their connection was cut`);
    recordProof('D17:cut');
  });

  async function listRuns(): Promise<string[]> {
    const ids: string[] = [];
    for (let after: string | undefined; ;) {
      const { data } = await server().call('search_executions', { limit: 100, ...(after && { after }) });
      ids.push(...data.executions.map((one: { execution_id: string }) => one.execution_id));
      if (data.next === null) return ids;
      after = data.next;
    }
  }
});

describe('runs of a server that ends', { skip: noSandbox }, () => {
  it('are told by the next one: cancelled if it stopped, lost with their output if it was killed', async () => {
    await using folder = await temporaryFolder();
    const open = async () => {
      const args = argumentsOf('stdio', '--structured', '--port', '0', '--data', folder.path);
      const transport = new StdioClientTransport({ command, args, env: environment, stderr: 'ignore' });
      return { ...(await connectBy(transport, { version: '2025-11-25', ...manners })), transport };
    };
    const begin = async ({ call }: Awaited<ReturnType<typeof open>>): Promise<string> => {
      const input = { command: 'echo printed; sleep 100', background: true };
      const { execution_id } = (await call('execute_bash', input)).data;
      for (let end = 0; end === 0;)
        end = (await call('get_execution', { execution_id, output_from: 0 })).data.output.end;
      return execution_id;
    };
    const first = await open();
    const cancelled = await begin(first);
    await first.client.close();

    const second = await open();
    const { data: stopped, text } = await second.call('get_execution', { execution_id: cancelled });
    assert.deepEqual([stopped.end_reason, stopped.cancelled_by], ['cancelled', 'stopped_server'], text);
    assert.equal(stopped.stdout, 'printed\n');
    const lost = await begin(second);
    // The output is saved every two seconds.
    await pause(3500);
    process.kill(second.transport.pid!, 'SIGKILL');

    await using third = await open();
    const { data: killed, text: told } = await third.call('get_execution', { execution_id: lost });
    assert.deepEqual([killed.end_reason, killed.background, killed.stdout], ['lost', 'asked', 'printed\n']);
    assert.match(told, /lost: its server ended while it ran/);
    recordProof('D17:restart');
  });
});
