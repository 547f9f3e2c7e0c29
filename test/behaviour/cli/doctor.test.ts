import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { it } from 'node:test';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { run, serve, temporaryFolder } from './program.testing.ts';

/** Doctor builds a document as well, which takes seconds and is told in the first test. */
const quickly = ['doctor', '--pandoc', '/nonexistent/pandoc'];

it('doctor tells what works here, changes nothing, and ends with exit code 0', async () => {
  await using folder = await temporaryFolder();
  const data = join(folder.path, 'not', 'yet');
  const { code, stdout, stderr } = await run(['doctor', '--port', '0', '--data', data]);
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^ok {5}Node 26\.\d+\.\d+ on /);
  assert.match(stdout, new RegExp(`^(ok  |note) {3}data folder ${data}, [\\d.]+ GB free$`, 'm'));
  assert.match(stdout, /^ok {5}database: SQLite [\d.]+ in the data folder$/m);
  assert.match(stdout, /^(ok {5}documents can be built: |note {3}documents cannot be built$)/m);
  assert.match(stdout, /^ok {5}skills: 4 that come with workcrate, 0 in \S+skills$/m);
  assert.ok(stdout.endsWith('workcrate can start here\n'));
  assert.deepEqual(await readdir(folder.path), []);
});

it('doctor names a remedy for each thing that keeps it from serving, and ends with exit code 1', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'file');
  await writeFile(file, '');
  const { code, stdout } = await run([
    ...quickly,
    '--host',
    '0.0.0.0',
    '--data',
    file,
    '--files-dir',
    join(file, 'x'),
  ]);
  assert.equal(code, 1);
  assert.match(stdout, /^broken data folder \S+: \S+file is a file\n +→ Choose another with --data$/m);
  assert.match(stdout, /^broken files folder \S+: \S+file is a file\n +→ Choose another with --files-dir$/m);
  assert.match(stdout, /^broken Workcrate does not listen on 0\.0\.0\.0: .* Require keys with --auth keys/m);
  assert.ok(stdout.endsWith('3 problems to fix before workcrate can start here\n'));
});

it('doctor tells a port that another program has from one that a workcrate has', async () => {
  await using folder = await temporaryFolder();
  await using occupant = createServer((socket) => void socket.destroy()).listen(0, '127.0.0.1');
  await once(occupant, 'listening');
  const { port } = occupant.address() as AddressInfo;
  const taken = await run([...quickly, '--port', String(port), '--data', folder.path]);
  assert.match(
    taken.stdout,
    new RegExp(`^broken port ${port} on 127\\.0\\.0\\.1 is in use by another program\\n +→ .*--port$`, 'm'),
  );
  assert.equal(taken.code, 1);
  await using program = await serve(['--data', folder.path]);
  const served = await run([...quickly, '--port', new URL(program.url).port, '--data', folder.path]);
  assert.match(served.stdout, /^note {3}port \d+ on 127\.0\.0\.1 is in use by a running workcrate$/m);
  assert.equal(served.code, 0);
});

it('doctor tries whether the database answers, and does not show its password', async () => {
  const env = { WORKCRATE_DATABASE: 'postgres://me:hush@127.0.0.1:1/db' };
  const { code, stdout, stderr } = await run([...quickly, '--port', '0'], { env });
  assert.match(stdout, /^broken database: /m);
  assert.doesNotMatch(stdout + stderr, /hush/);
  assert.equal(code, 1);
});

it('doctor tells whether the store answers, and whether anybody can sign in', async () => {
  await using folder = await temporaryFolder();
  const store = ['--storage', 's3', '--s3-bucket', 'b', '--s3-endpoint', 'http://127.0.0.1:1'];
  const env = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'hush' };
  const args = ['--port', '0', '--data', folder.path, '--auth', 'keys'];
  const first = await run([...quickly, ...args, ...store], { env });
  assert.equal(first.code, 1);
  assert.match(first.stdout, /^broken storage: /m);
  assert.match(first.stdout, /^note {3}users: nobody has a valid key\n +→ npx workcrate user add NAME/m);
  assert.doesNotMatch(first.stdout, /hush/);
  assert.deepEqual(await readdir(folder.path), []);
  assert.equal((await run(['user', 'add', 'ann', '--data', folder.path])).code, 0);
  assert.match((await run([...quickly, ...args])).stdout, /^ok {5}users: 1 valid keys$/m);
});

it('doctor and the log of the start say which skills cannot be used, and the others are served', async () => {
  await using folder = await temporaryFolder();
  const skills = join(folder.path, 'skills');
  for (const name of ['good', 'bad']) await mkdir(join(skills, name), { recursive: true });
  await writeFile(join(skills, 'good', 'SKILL.md'), '---\nname: good\ndescription: Fine\n---\n');
  await writeFile(join(skills, 'bad', 'SKILL.md'), 'no front matter');
  await symlink('good', join(skills, 'linked'));
  const settings = ['--port', '0', '--data', join(folder.path, 'data'), '--skills-path', skills];
  const { code, stdout } = await run([...quickly, ...settings]);
  assert.equal(code, 0);
  assert.match(stdout, /^ok {5}skills: 4 that come with workcrate, 1 in /m);
  assert.match(stdout, /^note {3}the skill bad cannot be used\n +→ SKILL\.md frontmatter: /m);
  assert.match(stdout, /^note {3}the skill linked cannot be used\n +→ It is a link/m);
  await using program = await serve(settings);
  const { data } = await program.call('list_skills', {});
  assert.deepEqual(
    data.broken.map(({ name }: { name: string }) => name),
    ['linked', 'bad'],
  );
  for (const name of ['bad', 'linked'])
    assert.match(program.output.stderr, new RegExp(`"skills\\.left_out","name":"${name}"`));
  recordProof('A12:told-by-doctor-and-log');
});
