import assert from 'node:assert/strict';
import { it } from 'node:test';
import { serve, temporaryFolder } from '../../behaviour/cli/program.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { processesWith } from '../../processes.testing.ts';

const env = { WORKCRATE_SANDBOX: 'bubblewrap' };

for (const [signal, word, reason] of [
  ['SIGKILL', '61803.1', 'lost'],
  ['SIGTERM', '61803.2', 'cancelled'],
] as const)
  it(
    `a server that ends by ${signal} takes its runs along, and the next one knows of them`,
    { skip: noSandbox },
    async () => {
      await using folder = await temporaryFolder();
      const settings = ['--data', folder.path, '--drain-timeout', '1'];
      await using server = await serve(settings, { env });
      const code = `(setsid sleep ${word} &); trap '' TERM; sleep ${word}`;
      const running = server.call('execute_code', { language: 'bash', code });
      running.catch(() => {});
      await eventually(() => processesWith(word).length >= 2);

      await server.end(signal);
      await eventually(() => processesWith(word).length === 0);

      await using next = await serve(settings, { env });
      const { data } = await next.call('search_executions', { text: word });
      assert.deepEqual(
        data.executions.map((execution: { end_reason: string }) => execution.end_reason),
        [reason],
      );
      const { data: after } = await next.call('execute_code', { language: 'bash', code: 'echo still here' });
      assert.equal(after.stdout, 'still here\n');
    },
  );
