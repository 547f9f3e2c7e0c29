/**
 * Outcomes that there are only where client and server share a machine, or where the sandbox has no walls: a second
 * server, over stdio, with little space for what it caches.
 */
import { execFileSync } from 'node:child_process';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { prove } from '../client-files/asking.testing.ts';
import { connect } from '../client-files/clients.testing.ts';
import { honest } from '../client-files/honest.testing.ts';
import { furnish, type Project } from '../client-files/project.testing.ts';
import { serve } from '../client-files/servers.testing.ts';
import { recordCalls, writeFiles, type Call, type Stage } from './stage.testing.ts';

export async function showSharedMachine({ project, recorded }: Stage): Promise<void> {
  const noWalls = { sandbox: 'subprocess' as const, allowSandbox: ['subprocess'] };
  await using served = await serve('stdio', { ...noWalls, clientCacheFiles: 3, auditLevel: 'trace' });
  const wish = { version: '2025-11-25', capabilities: { roots: {} }, manners: honest(project.root) } as const;
  await using client = recordCalls(await connect(served, wish), recorded);
  const { call } = client;
  const { execution_id } = (await call('execute_bash', { command: 'echo without walls; sleep 0.1' })).data;
  await call('get_execution', { execution_id });
  await call('share_file', { path: join(project.root, 'docs/plan.md') }).catch(() => null);
  await listDirectly(call, project);
  await fillCache(call);
}

async function listDirectly(call: Call, project: Project): Promise<void> {
  const folder = await furnish(project, 'direct');
  const whole = join(project.root, folder);
  await symlink('data.bin', join(whole, 'linked'));
  execFileSync('mkfifo', [join(whole, 'pipe')]);
  execFileSync('sh', ['-c', String.raw`printf x >"$(printf '%s/\377' "$0")"`, whole]);
  await mkdir(join(whole, 'many'));
  const many = Array.from({ length: 1100 }, (_, at) => [`${at}.txt`, '']);
  await writeFiles(join(whole, 'many'), Object.fromEntries(many));
  await call('read_client_file', { path: `${folder}/deep/notes.md`, via: 'upload' });
  await prove({ call }, project.root, folder);
  await call('list_client_directory', { path: `${folder}/deep`, recursive: true, pattern: '*.md' });
  await call('list_client_directory', { path: `${folder}/many` });
  await call('read_client_file', { path: `${folder}/deep/notes.md` });
}

async function fillCache(call: Call): Promise<void> {
  for (const name of ['a', 'b', 'c', 'd', 'e'])
    await call('guide_cache_file', { path: `docs/${name}.md`, content: name, mtime: 1000 });
  await call('guide_cache_file', { path: 'docs/e.md', content: 'newer', mtime: 2000 });
  await call('guide_cache_file', {});
}
