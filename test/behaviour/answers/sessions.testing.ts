/** Every outcome of the tools for sessions. */
import assert from 'node:assert/strict';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import type { Call, Stage } from './stage.testing.ts';

export async function showSessions({ call, refuse }: Stage): Promise<void> {
  await call('list_sessions', {});
  const first = await call('execute_code', { language: 'python', code: 'x = 1', session_id: 'first' });
  const { session_id } = first.data.session;
  await call('get_execution', { execution_id: first.data.execution_id });
  await showGoingBack(call, session_id);
  await showInterrupt(call, session_id);
  await refuse('manage_session', { session_id, action: 'restore', name: 'none' });
  await refuse('execute_code', { language: 'bash', code: 'true', session_id });
  await call('list_sessions', {});
  await call('close_session', { session_id });
  await refuse('close_session', { session_id });
  await refuse('send_to_session', { session_id, code: '1' });
  await showLoss(call);
  await refuse('list_sessions', { all: true });
  await refuse('start_session', { language: 'python', name: 'sess_1' });
  await call('list_sessions', {});
}

async function showGoingBack(call: Call, session_id: string): Promise<void> {
  await call('send_to_session', {
    session_id,
    code: 'open("a.txt", "w").write("a"); import os; os.symlink("a.txt", "l")',
  });
  await call('manage_session', { session_id, action: 'checkpoint', name: 'before' });
  await call('send_to_session', {
    session_id,
    code: 'import time; print(time.time_ns()); open("/artifacts/time.txt", "w").write(str(time.time_ns()))',
  });
  const fork = await call('manage_session', { session_id, action: 'fork', name: 'second' });
  await call('close_session', { session_id: fork.data.session_id });
  const replay = await call('manage_session', { session_id, action: 'replay' });
  assert.equal(replay.data.different.length, 1, replay.text);
  await call('close_session', { session_id: replay.data.session_id });
  await call('list_sessions', {});
  await call('manage_session', { session_id, action: 'restore' });
  await call('manage_session', { session_id, action: 'export' });
}

async function showInterrupt(call: Call, session_id: string): Promise<void> {
  await call('manage_session', { session_id, action: 'interrupt' });
  const running = call('send_to_session', { session_id, code: 'import time; time.sleep(60)' });
  await eventually(async () => {
    const { data } = await call('manage_session', { session_id, action: 'interrupt' });
    return data.cell !== null;
  });
  assert.equal((await running).data.end_reason, 'signal');
}

/** A session without a name and a folder of its own, which its code ends. */
async function showLoss(call: Call): Promise<void> {
  const { data } = await call('start_session', { language: 'python', working_dir: '/workspace/shared' });
  const { session_id } = data;
  await call('manage_session', { session_id, action: 'checkpoint' });
  await call('send_to_session', { session_id, code: 'y = 2' });
  const lost = await call('send_to_session', { session_id, code: 'import os; os._exit(3)' });
  assert.equal(lost.data.session.state, 'lost', lost.text);
  const replay = await call('manage_session', { session_id, action: 'replay' });
  assert.deepEqual([replay.data.cells, replay.data.notes.length], [1, 1], replay.text);
  await call('close_session', { session_id: replay.data.session_id });
  await call('get_execution', { execution_id: lost.data.execution_id });
  for (const language of ['node', 'bash']) {
    const started = await call('start_session', { language, name: language });
    await call('close_session', { session_id: started.data.session_id });
  }
  await call('execute_code', { language: 'python', code: 'exit(1)', session_id: 'short' });
  const again = await call('execute_code', { language: 'python', code: '1', session_id: 'short' });
  await call('close_session', { session_id: again.data.session.session_id });
}
