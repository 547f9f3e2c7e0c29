import assert from 'node:assert/strict';
import { cp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { run, serve, temporaryFolder } from '../cli/program.testing.ts';
import { auditOf } from './lines.testing.ts';

const verify = (data: string) => run(['audit', 'verify', '--data', data]);

/** A server that is used, and stopped. Gives what it wrote to its log. */
async function use(data: string): Promise<string> {
  await using server = await serve(['--data', data, '--log-level', 'error']);
  await server.call('request_upload', { filename: 'a' });
  assert.equal(await server.end('SIGTERM'), 0);
  return server.output.stderr;
}

it('a restore without the audit log is noticed, before the next start and after it', async () => {
  await using folder = await temporaryFolder();
  const data = join(folder.path, 'data');
  assert.equal(await use(data), '');
  const whole = await verify(data);
  assert.equal(whole.code, 0, whole.stdout);
  assert.doesNotMatch(whole.stdout, /could not be compared/);

  await rm(join(data, 'audit'), { recursive: true });
  const before = await verify(data);
  assert.equal(before.code, 1);
  assert.match(before.stdout, /the database recorded line \d+ on .*, but there is no line/);
  assert.match(await use(data), /"event":"audit\.lines_missing"/);
  const after = await verify(data);
  assert.equal(after.code, 1);
  assert.match(after.stdout, /the database had recorded line \d+ on .*, but the log ended at 0/);
});

it('a log that was moved away on purpose can be forgotten, and a copy without a database says so', async () => {
  await using folder = await temporaryFolder();
  const data = join(folder.path, 'data');
  await use(data);
  await rename(join(data, 'audit'), join(folder.path, 'audit'));
  const copied = await verify(folder.path);
  assert.equal(copied.code, 0, copied.stdout);
  assert.match(copied.stdout, /note: the database: the log could not be compared with it: there is none/);

  const forgotten = await run(['audit', 'forget', '--data', data]);
  assert.deepEqual([forgotten.code, forgotten.stdout], [0, 'The database has forgotten the log.\n']);
  assert.equal(await use(data), '');
  const anew = await verify(data);
  assert.equal(anew.code, 0, anew.stdout);
});

it('forgetting is refused beside a running server', async () => {
  await using folder = await temporaryFolder();
  await using server = await serve(['--data', folder.path]);
  await server.call('list_files', {});
  const { code, stderr } = await run(['audit', 'forget', '--data', folder.path]);
  assert.equal(code, 1);
  assert.match(stderr, /is in use by another workcrate/);
});

it('a copy of the log that is made after that of the database fits it, and one made before does not', async () => {
  await using folder = await temporaryFolder();
  const [data, copy] = [join(folder.path, 'data'), join(folder.path, 'copy')];
  await use(data);
  const early = join(folder.path, 'early');
  await cp(join(data, 'audit'), early, { recursive: true });
  await use(data);
  await cp(data, copy, { recursive: true });
  await use(data);
  await rm(join(copy, 'audit'), { recursive: true });
  await cp(join(data, 'audit'), join(copy, 'audit'), { recursive: true });
  const later = await verify(copy);
  assert.equal(later.code, 0, later.stdout);
  assert.ok(auditOf(copy).length === auditOf(data).length);
  await rm(join(copy, 'audit'), { recursive: true });
  await rename(early, join(copy, 'audit'));
  const earlier = await verify(copy);
  assert.equal(earlier.code, 1);
  assert.match(earlier.stdout, /the database recorded line \d+ .*, but the log ends at \d+/);
});
