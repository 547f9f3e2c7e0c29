/** Every outcome of the tools for files of the client. */
import { join } from 'node:path';
import { ask } from '../client-files/asking.testing.ts';
import { furnish } from '../client-files/project.testing.ts';
import { writeFiles, type Stage } from './stage.testing.ts';

export async function showClientFiles(stage: Stage): Promise<void> {
  const { call, refuse, project } = stage;
  const { root } = project;
  await call('guide_cache_file', {});
  await call('guide_cache_file', { path: 'docs/plan.md', content: '# Plan\n', mtime: 1_700_000_000_000 });
  await call('guide_cache_file', {
    files: [
      { path: 'docs/bytes.bin', content: 'AAEC', binary: true },
      { path: 'docs/two.md', content: 'two' },
    ],
  });
  await call('read_client_file', { path: 'docs/plan.md' });
  await call('guide_cache_file', { forget: 'docs/two.md' });
  await call('guide_cache_file', { forget: 'docs/two.md' });
  await refuse('guide_cache_file', { forget: '../secret' });
  await refuse('guide_cache_file', { path: '../secret', content: 'x' });
  await refuse('read_client_file', { path: 'secret.txt' });
  await refuse('list_client_directory', { path: '/etc' });
  const folder = await furnish(project, 'upload');
  await writeFiles(join(root, folder), {
    'large.txt': 'line\n'.repeat(20_000),
    'latin.txt': Buffer.from('caf\xe9', 'latin1'),
  });
  await readAndList({ call }, root, folder);
  for (const [name, capabilities] of Object.entries({
    form: { elicitation: { form: {} } },
    url: { elicitation: { url: {} } },
    sampling: { sampling: {} },
  })) {
    await using client = await stage.connect(capabilities);
    const its = await furnish(project, name);
    await client.call('read_client_file', { path: `${its}/grüße an alle.txt`, via: name });
    await client.call('list_client_directory', { path: its, recursive: true, via: name });
  }
  await listPartly(stage);
}

/** What comes has no last line, which says that it is all. */
async function listPartly({ call }: Stage): Promise<void> {
  const input = { path: 'docs/partly' };
  const { uploadUrl } = (await call('list_client_directory', input)).data.offer;
  await fetch(uploadUrl, { method: 'PUT', body: '{"path":"a.txt","type":"file","size":3,"mtime":null}\n' });
  await call('list_client_directory', input);
}

async function readAndList({ call }: Pick<Stage, 'call'>, root: string, folder: string): Promise<void> {
  const asking = (tool: string, input: Record<string, unknown>) => ask({ call }, root, tool, input);
  await asking('read_client_file', { path: `${folder}/grüße an alle.txt` });
  await call('read_client_file', { path: `${folder}/grüße an alle.txt`, max_age_s: 600 });
  await asking('read_client_file', { path: `${folder}/data.bin` });
  await call('read_client_file', { path: `${folder}/data.bin`, binary: true, max_age_s: 600 });
  await asking('read_client_file', { path: `${folder}/large.txt` });
  await asking('read_client_file', { path: `${folder}/latin.txt`, encoding: 'utf-8' });
  await asking('list_client_directory', { path: folder, recursive: true });
  // The listing shows that one that is cached has changed since.
  await writeFiles(root, { 'docs/plan.md': '# Plan' });
  await asking('list_client_directory', { path: 'docs' });
  await call('guide_cache_file', { path: 'docs/plan.md', content: '# Plan\n' });
  await call('guide_cache_file', { forget: 'docs/plan.md' });
}
