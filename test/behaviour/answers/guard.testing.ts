/** Runs under a guard, on a server of their own: where rules judge output, none is shown while a run goes on. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { connectBy } from '../client-files/clients.testing.ts';
import { replyOf, startServer } from '../../server.testing.ts';
import { recordCalls, type Stage } from './stage.testing.ts';

const told = { reason: 'Because of a rule', remedy: 'Do otherwise' };
const rules = {
  rules: [
    { id: 'noted', when: 'before', match: { code: 'noted' }, action: 'record', ...told },
    { id: 'blocked', when: 'before', match: { code: 'blocked' }, action: 'block', ...told },
    { id: 'blanked', when: 'after', match: { output: 'blank' }, action: 'redact', ...told },
    { id: 'withheld', when: 'after', match: { output: 'withhold' }, action: 'block', ...told },
  ],
  // Nobody listens there, so it fails.
  judge: { url: 'http://127.0.0.1:1/', tools: ['execute_bash'], when: ['after'] },
};

export async function showGuard({ recorded }: Stage): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-answers-guard-'));
  try {
    const guard = join(folder, 'rules.json');
    writeFileSync(guard, JSON.stringify(rules));
    await using server = await startServer({ sandbox: 'bubblewrap', warmNode: 0, guard });
    const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp?structured=1`));
    const wish = { version: '2025-11-25', capabilities: {}, manners: {} } as const;
    await using caller = recordCalls(await connectBy(transport, wish), recorded);
    const { call, refuse, client } = caller;
    for (const code of ['print("bl" "ank noted")', 'print("with" + "hold")']) {
      const { data } = await call('execute_code', { language: 'python', code });
      await call('get_execution', { execution_id: data.execution_id });
    }
    await refuse('execute_code', { language: 'python', code: '# blocked' });
    const { text } = await refuse('execute_bash', { command: 'echo 1' });
    await call('get_execution', { execution_id: /exec_\w{12}/.exec(text)![0] });
    const { executions } = (await call('search_executions', { status: 'refused' })).data;
    await call('get_execution', { execution_id: executions[0].execution_id });
    const traced = await client.callTool({
      name: 'execute_code',
      arguments: { language: 'python', code: 'print(1)' },
      _meta: { 'workcrate/trace': 'agent-7' },
    });
    await call('get_execution', { execution_id: replyOf(traced).data.execution_id });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
