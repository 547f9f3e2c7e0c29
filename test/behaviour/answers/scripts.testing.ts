/** Every outcome of the tools for scripts. */
import assert from 'node:assert/strict';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import type { Stage } from './stage.testing.ts';

const plain = { description: 'Says hello', language: 'python', code: 'print("hello from a script")' };

export async function showScripts({ call, refuse }: Stage): Promise<void> {
  await call('list_scripts', {});
  await call('search_scripts', { text: 'nothing has this' });
  const { data } = await call('execute_code', { language: 'python', code: 'print(input())', stdin: '{}' });
  const made = { description: 'Echoes\nits args', source_execution_id: data.execution_id };
  await call('save_script', { name: 'echo', ...made, tags: ['demo', 'two words'], packages: ['json'] });
  await call('save_script', { name: 'echo', ...plain });
  const ran = await call('run_script', { name: 'echo@1', args: { some: ['value'] } });
  assert.equal(ran.data.script, 'echo@1');
  await call('get_execution', { execution_id: ran.data.execution_id });
  await eventually(async () => (await call('list_scripts', {})).data.scripts[0].last_run.outcome === 'ok');
  await call('get_script', { name: 'echo@1' });
  await call('get_script', { name: 'echo' });
  await call('save_script', { name: 'echo', ...made, tags: ['two words'], packages: ['json'] });
  for (const language of ['node', 'bash']) {
    await call('save_script', { name: language, ...plain, language });
    await call('get_script', { name: language });
  }
  const long = `#${'x'.repeat(12_000)}`;
  await call('save_script', { name: 'long', ...plain, code: long });
  const first = await call('get_script', { name: 'long' });
  await call('get_script', { name: 'long', code_from: first.data.code_next });
  const page = await call('list_scripts', { limit: 1 });
  await call('list_scripts', { after: page.data.next });
  await call('search_scripts', { tag: 'two words' });
  const found = await call('search_scripts', { text: 'says', limit: 1 });
  await call('search_scripts', { text: 'says', after: found.data.next });
  await call('run_script', { name: 'bash', background: true });
  await refuseAll(refuse);
  await call('delete_script', { name: 'echo@2' });
  await call('delete_script', { name: 'echo' });
}

async function refuseAll(refuse: Stage['refuse']): Promise<void> {
  await refuse('save_script', { name: 'a/b', ...plain });
  await refuse('save_script', { name: 'no-code', description: 'x' });
  await refuse('get_script', { name: 'none' });
  await refuse('get_script', { name: 'echo@9' });
  await refuse('list_scripts', { limit: 0 });
  await refuse('search_scripts', { text: '' });
  await refuse('run_script', { name: 'echo', args: 'text' });
  await refuse('delete_script', { name: 'none' });
}
