import assert from 'node:assert/strict';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { run, temporaryFolder } from './program.testing.ts';

const launchers = join(import.meta.dirname, '../../bin');

/** A package around the launcher, whose program tells that it was reached. */
async function installed() {
  const folder = await temporaryFolder();
  for (const name of ['bin', 'dist']) await mkdir(join(folder.path, name));
  for (const name of ['workcrate.js', 'start.js'])
    await cp(join(launchers, name), join(folder.path, 'bin', name));
  await writeFile(join(folder.path, 'package.json'), '{"type":"module"}');
  await writeFile(join(folder.path, 'dist/cli.js'), 'console.log("reached", ...process.argv.slice(2));');
  return { ...folder, launch: join(folder.path, 'bin/workcrate.js') };
}

it('the launcher starts the program with its arguments', async () => {
  await using place = await installed();
  const { code, stdout } = await run(['serve', '--port', '0'], { program: [process.execPath, place.launch] });
  assert.deepEqual([code, stdout], [0, 'reached serve --port 0\n']);
});

it('the launcher refuses a Node older than 26 and says how to get one', async () => {
  await using place = await installed();
  const pretend = join(place.path, 'pretend.cjs');
  await writeFile(pretend, "Object.defineProperty(process.versions, 'node', { value: '20.20.2' });");
  const program = [process.execPath, '--require', pretend, place.launch];
  const { code, stdout, stderr } = await run(['stdio'], { program });
  assert.equal(
    stderr,
    'workcrate: this is Node 20.20.2, and workcrate needs Node 26. In a checkout `npm ci` brings it; elsewhere `npm install --global node@26` does.\n',
  );
  assert.deepEqual([code, stdout], [1, '']);
});

it('the launcher of a checkout hands over to the Node that npm ci put beside it', async () => {
  await using place = await installed();
  const beside = join(place.path, 'node_modules/node/bin');
  await mkdir(beside, { recursive: true });
  await symlink(process.execPath, join(beside, 'node'));
  const pretend = join(place.path, 'pretend.cjs');
  await writeFile(pretend, "Object.defineProperty(process.versions, 'node', { value: '20.20.2' });");
  const program = [process.execPath, '--require', pretend, place.launch];
  const { code, stdout, stderr } = await run(['serve', '--port', '0'], { program });
  assert.deepEqual([code, stdout, stderr], [0, 'reached serve --port 0\n', '']);
});
