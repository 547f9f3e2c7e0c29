/** Every outcome of the tools that find and call tools. */
import type { Stage } from './stage.testing.ts';

export async function showDiscovery({ call, refuse }: Stage): Promise<void> {
  await call('search_tools', { query: 'delete a stored file', detail: 'names' });
  await call('search_tools', { query: 'run code in a sandbox' });
  await call('search_tools', { query: 'read a skill', detail: 'full', limit: 2 });
  await call('search_tools', { query: 'xyzzy' });
  await call('call_tool', { name: 'list_files', arguments: { limit: 1 } });
  await refuse('search_tools', { query: '' });
  await refuse('call_tool', { name: 'none' });
  await refuse('call_tool', { name: 'read_skill', arguments: { nam: 'x' } });
}
