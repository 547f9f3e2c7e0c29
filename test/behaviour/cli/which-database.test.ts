import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { describeOpened } from '../../../src/cli/open-unlocked.ts';
import { loadConfig } from '../../../src/server/settings.ts';
import { run, temporaryFolder } from './program.testing.ts';

it('a command says which database it opened, and that it made one', async () => {
  await using folder = await temporaryFolder();
  const where = ['--data', folder.path];
  const first = await run(['user', 'add', 'ada', ...where]);
  assert.ok(
    first.stderr.includes(`There was no database in ${folder.path}: a new one is made`),
    first.stderr,
  );
  assert.match(first.stdout, /^wck_/);
  const told = `Database: ${join(folder.path, 'workcrate.db')}\n`;
  const commands = [
    ['user', 'add', 'bob'],
    ['user', 'list', '--json'],
    ['user', 'rotate', 'bob'],
    ['user', 'remove', 'bob'],
    ['usage', '--json'],
    ['gateway', 'diff'],
  ];
  for (const command of commands) {
    const { stderr, stdout } = await run([...command, ...where]);
    assert.ok(stderr.includes(told), `${command.join(' ')}: ${stderr}`);
    assert.ok(!stdout.includes('Database:'));
  }
});

it('a command reads the settings of a service from its file', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'workcrate.env');
  await writeFile(
    file,
    `# of the service\nWORKCRATE_DATA=${join(folder.path, 'data')}\nWORKCRATE_AUTH=keys\n`,
  );
  const { code, stdout, stderr } = await run(['user', 'add', 'ada', '--service-env', file]);
  assert.equal(code, 0, stderr);
  assert.ok(stderr.includes(join(folder.path, 'data/workcrate.db')), stderr);
  // It knows the other settings too: without them it would say that the server asks for no keys.
  assert.doesNotMatch(stdout, /only when started with --auth keys/);
  const missing = await run(['user', 'list', '--service-env', join(folder.path, 'none')]);
  assert.equal(missing.code, 2);
  assert.match(missing.stderr, /--service-env .*none cannot be read \(ENOENT\)/);
});

it('the settings of a service that were not read are named, and no password is', () => {
  const database = 'postgres://workcrate:se/cr@et@db.example.org/workcrate';
  const { config } = loadConfig({ database }, {});
  const text = describeOpened(config, false, '/etc/workcrate/workcrate.env');
  assert.match(text, /did not read\. If they are meant, add --service-env \/etc\/workcrate\/workcrate\.env/);
  assert.ok(text.startsWith('Database: postgres://…@db.example.org/workcrate\n'), text);
});
