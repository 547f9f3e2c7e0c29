import assert from 'node:assert/strict';
import { once } from 'node:events';
import { it } from 'node:test';
import { noSandbox } from '../code.testing.ts';
import type { Came } from './by-hand.testing.ts';
import { openingOf, versions } from './messages.testing.ts';
import { startStdio } from './stdio.testing.ts';

type Stdio = Awaited<ReturnType<typeof startStdio>>;

const answerTo = (stdio: Stdio, id: number): Came =>
  stdio.messages.find((message) => message.id === id && message.method === undefined) ?? {};

const run = (code: string) => ({ name: 'execute_code', arguments: { language: 'bash', code } });

/** Runs code that says that it has begun, and stops the program then. */
async function stoppedIn(stdio: Stdio, version: (typeof versions)[number], code: string): Promise<Came> {
  const { opening, request } = openingOf(version);
  stdio.write(...opening, request(2, 'tools/call', { ...run(code), _meta: { progressToken: 1 } }));
  await stdio.until(({ method }) => method === 'notifications/progress');
  stdio.child.kill('SIGTERM');
  assert.deepEqual(await once(stdio.child, 'close'), [0, null]);
  return answerTo(stdio, 2);
}

for (const version of versions) {
  it(`a run over stdio comes to its end at a stop, with MCP ${version}`, { skip: noSandbox }, async () => {
    await using stdio = await startStdio('--drain-timeout', '20');
    const answer = await stoppedIn(stdio, version, 'echo begun; sleep 1.5; echo done');
    assert.match(answer['result']?.structuredContent?.stdout ?? '', /done/, JSON.stringify(answer));
    assert.match(stdio.logged(), /"tool":"execute_code".*"result":"ok"/);
  });

  it(
    `a run over stdio that is cut by a stop is answered and noted as cut, with MCP ${version}`,
    { skip: noSandbox },
    async () => {
      await using stdio = await startStdio('--drain-timeout', '1');
      const answer = await stoppedIn(stdio, version, 'echo begun; sleep 100');
      assert.equal(answer['result']?.structuredContent?.end_reason, 'cancelled', JSON.stringify(answer));
      assert.match(stdio.logged(), /"tool":"execute_code".*"result":"cancelled"/);
    },
  );
}

for (const version of ['2025-11-25', '2025-06-18'] as const)
  it(`a question over stdio that is open at a stop is answered for the client, with MCP ${version}`, async () => {
    await using stdio = await startStdio('--drain-timeout', '20');
    const { opening, request } = openingOf(version, { elicitation: { form: {} } });
    const params = { name: 'read_client_file', arguments: { path: 'docs/a.txt', via: 'form' } };
    stdio.write(...opening, request(2, 'tools/call', params));
    await stdio.until(({ method }) => method === 'elicitation/create');
    stdio.child.kill('SIGTERM');
    assert.deepEqual(await once(stdio.child, 'close'), [0, null]);
    const answer = answerTo(stdio, 2);
    assert.equal(answer['result']?._meta?.['workcrate/error']?.code, 'stopping', JSON.stringify(answer));
  });
