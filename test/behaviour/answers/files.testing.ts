/** Every outcome of the tools for files, links and artifacts. */
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { upload } from '../../server.testing.ts';
import type { Stage } from './stage.testing.ts';

export async function showFiles({ server, call, refuse }: Stage): Promise<void> {
  await call('list_files', {});
  const [first, second, third] = [
    await upload(server, 'measured values.csv', 'a,b\n1,2\n'.repeat(3000)),
    await upload(server, 'notes.txt', 'a few words'),
    await upload(server, 'gone.txt', 'soon deleted'),
  ];
  await call('request_upload', { filename: 'b.bin', ttl_seconds: 7200 });
  await call('request_upload', { filename: 'photos', max_files: 20 });
  await refuse('request_upload', { filename: 'b.bin', sha256: 'zz' });
  await refuse('request_upload', { filename: 'photos', max_files: 20, size: 3 });
  const { next } = (await call('list_files', { limit: 2 })).data;
  await call('list_files', { after: next });
  await call('list_files', { text: 'NOTES' });
  await call('list_files', { text: 'no such name' });
  await call('list_files', { file_id: first });
  await refuse('list_files', { limit: 0 });
  await refuse('list_files', { after: 'nowhere' });
  await refuse('list_files', { file_id: 'file_000000000000000000000000' });
  await showLinks({ server, call, refuse }, { first, second, third });
  await call('bundle_files', { file_ids: [first, second], filename: 'both.zip' });
  await refuse('bundle_files', { file_ids: [third] });
  await refuse('delete_file', { file_id: third });
  await refuse('share_file', { file_id: third });
}

async function showLinks(
  { server, call, refuse }: Pick<Stage, 'server' | 'call' | 'refuse'>,
  { first, second, third }: Record<'first' | 'second' | 'third', string>,
): Promise<void> {
  await call('link_status', {});
  const brief = (await call('share_file', { file_id: second, ttl_seconds: 1 })).data.token;
  const active = (await call('share_file', { file_id: first })).data;
  await (await fetch(active.downloadUrl)).bytes();
  await eventually(
    async () => (await server.call('link_status', { token: active.token })).data.downloads > 0,
  );
  await call('link_status', { token: active.token });
  const used = (await call('share_file', { file_id: second, single_use: true })).data;
  await call('link_status', { token: used.token });
  await (await fetch(used.downloadUrl)).text();
  await eventually(
    async () => (await server.call('link_status', { token: used.token })).data.state === 'used',
  );
  await call('link_status', { token: used.token });
  const gone = (await call('share_file', { file_id: third })).data.token;
  await call('delete_file', { file_id: third });
  await call('link_status', { token: gone });
  await call('link_status', {});
  const { next } = (await call('link_status', { limit: 1 })).data;
  await call('link_status', { after: next, limit: 1 });
  await call('link_status', { file_id: first });
  await refuse('link_status', { after: 'nowhere' });
  await call('revoke_link', { token: active.token });
  await call('link_status', { token: active.token });
  await refuse('revoke_link', { link_id: 'none' });
  await refuse('link_status', { link_id: 'none' });
  await eventually(async () => (await server.call('link_status', { token: brief })).data.state === 'expired');
  await call('link_status', { token: brief });
  await call('link_status', {});
}

/** Needs runs, which leave artifacts. */
export async function showArtifacts({ call, refuse }: Stage): Promise<void> {
  await call('list_artifacts', {});
  const picture =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  await call('execute_bash', {
    command: `cd /artifacts; echo ${picture} | base64 -d > plot.png; echo one > one.txt; echo two > "two words.txt"`,
  });
  const { next } = (await call('list_artifacts', { limit: 2 })).data;
  await call('list_artifacts', { after: next });
  await call('list_artifacts', { after: 'zzz' });
  await refuse('list_artifacts', { limit: 0 });
  await call('get_artifact', { name: 'two words.txt' });
  await call('get_artifact', { name: 'plot.png', show: true });
  await call('get_artifact', { name: 'one.txt', show: true });
  await call('get_artifact', { name: 'one.txt', delivery: 'base64' });
  await refuse('get_artifact', { name: '../secret' });
  await refuse('get_artifact', { name: 'none.txt' });
}
