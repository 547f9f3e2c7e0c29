import assert from 'node:assert/strict';
import type { Connected, Reply } from './clients.testing.ts';
import { shell } from './honest.testing.ts';

/** Calls as an agent with a shell does: what is offered is done, then called again. */
export async function ask(
  { call }: Pick<Connected, 'call'>,
  root: string,
  tool: string,
  input: Record<string, unknown>,
): Promise<Reply> {
  const first = await call(tool, input);
  if (first.failed || first.data?.status !== 'offered') return first;
  await shell(root, first.data.offer.command as string);
  return call(tool, input);
}

/** Shows the server that this client sees the same files. */
export async function prove({ call }: Pick<Connected, 'call'>, root: string, path: string): Promise<void> {
  const offered = await call('list_client_directory', { path, via: 'direct' });
  assert.equal(offered.data?.status, 'offered', offered.text);
  assert.equal(offered.data.rung, 'direct');
  const proof = await shell(root, offered.data.offer.command as string);
  const proven = await call('list_client_directory', { path, via: 'direct', proof });
  assert.equal(proven.data?.status, 'listed', proven.text);
}
