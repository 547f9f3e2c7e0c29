import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { it } from 'node:test';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { findOldNode, pretendOldNode } from './old-node.testing.ts';
import { environment, run, temporaryFolder } from './program.testing.ts';

const launchers = join(import.meta.dirname, '../../../bin');
const names = ['old-node.js', 'start.js', 'stdio.js', 'workcrate.js', 'workcrate.sh'];
const ownNode = `${process.platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node'}-${process.platform}-${process.arch}`;

/** A project in which the package is installed; its program tells that it was reached. */
async function installPackage() {
  const folder = await temporaryFolder();
  const home = join(folder.path, 'node_modules/workcrate');
  for (const name of ['bin', 'dist']) await mkdir(join(home, name), { recursive: true });
  for (const name of names) await cp(join(launchers, name), join(home, 'bin', name));
  await writeFile(join(home, 'package.json'), '{"type":"module"}');
  await writeFile(join(home, 'dist/main.js'), 'console.log("reached", ...process.argv.slice(2));');
  return { ...folder, home, launch: join(home, 'bin/workcrate.js') };
}

/** Puts a Node where npm hoists it to: beside the package. */
async function installNode(folder: string, version: string): Promise<string> {
  const bin = join(folder, 'node_modules', ownNode, 'bin');
  await mkdir(bin, { recursive: true });
  await writeFile(join(bin, '../package.json'), JSON.stringify({ name: ownNode, version }));
  await symlink(process.execPath, join(bin, 'node'));
  return join(bin, 'node');
}

const remedy = (command: string): string =>
  `Run this instead: npx -y -p ${ownNode}@26 -p workcrate workcrate ${command}`;

it('the launcher starts the program with its arguments', async () => {
  await using place = await installPackage();
  const { code, stdout } = await run(['serve', '--port', '0'], { program: [process.execPath, place.launch] });
  assert.deepEqual([code, stdout], [0, 'reached serve --port 0\n']);
});

it('the launcher on an old Node hands over to the one that npm put beside the package', async () => {
  await using place = await installPackage();
  await installNode(place.path, '26.10.0');
  const { command } = await findOldNode(place.path);
  const { code, stdout, stderr } = await run(['serve', '--port', '0'], {
    program: [...command, place.launch],
  });
  assert.deepEqual([code, stdout, stderr], [0, 'reached serve --port 0\n', '']);
});

it('the launcher on an old Node hands over to one inside the package too', async () => {
  await using place = await installPackage();
  await installNode(place.home, '26.10.0');
  const { command } = await pretendOldNode(place.path);
  const { stdout } = await run(['doctor'], { program: [...command, place.launch] });
  assert.equal(stdout, 'reached doctor\n');
});

it('the launcher on an old Node alone refuses, and names the command that brings a newer one', async () => {
  await using place = await installPackage();
  const { command, version } = await findOldNode(place.path);
  const { code, stdout, stderr } = await run(['doctor'], { program: [...command, place.launch] });
  assert.equal(
    stderr,
    `workcrate: this is Node ${version}, and workcrate needs Node 26. ${remedy('doctor')}\n`,
  );
  assert.deepEqual([code, stdout], [1, '']);
});

it('a Node beside the package that is too old as well is not handed over to', async () => {
  await using place = await installPackage();
  await installNode(place.path, '20.20.2');
  const { command } = await pretendOldNode(place.path);
  const { code, stderr } = await run(['serve'], { program: [...command, place.launch] });
  assert.equal(code, 1);
  assert.ok(stderr.endsWith(`${remedy('serve')}\n`), stderr);
});

it('a Node beside the package that cannot be run is reported with the remedy', async () => {
  await using place = await installPackage();
  const node = await installNode(place.path, '26.10.0');
  await rm(node);
  await writeFile(node, 'no program', { mode: 0o600 });
  const { command } = await pretendOldNode(place.path);
  const { code, stderr } = await run(['serve'], { program: [...command, place.launch] });
  assert.equal(code, 1);
  assert.match(stderr, /^workcrate: this is Node 20\.20\.2, and \S+\/bin\/node cannot be run \(.+EACCES/);
  assert.ok(stderr.endsWith(`${remedy('serve')}\n`), stderr);
});

/** Puts a Node beside the package that lacks a library, and says so as the loader does. */
async function installLackingNode(folder: string, said: string): Promise<string> {
  const node = await installNode(folder, '26.10.0');
  await rm(node);
  await writeFile(node, `#!/bin/sh\necho "$0: ${said}" >&2\nexit 127\n`, { mode: 0o755 });
  return node;
}

it('a library that the Node beside the package lacks is named before that Node gets the streams', async () => {
  await using place = await installPackage();
  const said = 'error while loading shared libraries: libatomic.so.1: cannot open shared object file';
  await installLackingNode(place.path, said);
  const { command } = await pretendOldNode(place.path);
  const { code, stdout, stderr } = await run(['serve'], { program: [...command, place.launch] });
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(
    stderr,
    /^workcrate: this is Node 20\.20\.2, and the Node 26 that comes with workcrate needs libatomic\.so\.1, which is missing here\. Install (?:it: (?:sudo )?apt-get install libatomic1|the package of your system that has it\.)\n$/,
  );
});

it('what npx starts passes over a Node that cannot be started, also by a link', async () => {
  await using place = await installPackage();
  const broken = await installLackingNode(place.path, 'error while loading shared libraries: libz.so.9: no');
  const bin = join(place.path, 'node_modules/.bin');
  await mkdir(bin);
  await symlink('../workcrate/bin/workcrate.sh', join(bin, 'workcrate'));
  const path = [dirname(broken), dirname(process.execPath), '/usr/bin:/bin'].join(delimiter);
  const { code, stdout } = await run(['serve', '--port', '0'], {
    program: [join(bin, 'workcrate')],
    env: { PATH: path },
  });
  assert.deepEqual([code, stdout], [0, 'reached serve --port 0\n']);
  const none = await run(['doctor'], {
    program: [join(bin, 'workcrate')],
    env: { PATH: `${dirname(broken)}:/usr/bin/none:/bin/none` },
  });
  assert.equal(none.code, 127);
});

it('a checkout without its packages is told to install them', async () => {
  await using place = await installPackage();
  await mkdir(join(place.home, 'src'));
  await writeFile(join(place.home, 'src/main.ts'), '');
  const { command } = await pretendOldNode(place.path);
  const { stderr } = await run(['serve'], { program: [...command, place.launch] });
  assert.match(stderr, /needs Node 26\. In the checkout, `npm ci` installs it\.\n$/);
});

/** Sends lines to a program over stdin, and gives what it answered before it ended. */
async function exchange(command: readonly string[], lines: readonly string[]) {
  const [file, ...args] = command;
  const child = spawn(file!, args, { env: environment, stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.end(lines.map((line) => `${line}\n`).join(''));
  const [text] = await Promise.all([child.stdout.setEncoding('utf8').toArray(), once(child, 'close')]);
  const answers = text.join('').trim().split('\n');
  return { code: child.exitCode, answers: answers.map((line) => JSON.parse(line) as unknown) };
}

for (const [how, file, words] of [
  ['workcrate stdio', 'workcrate.js', ['stdio']],
  ['the file that package.json calls main', 'stdio.js', []],
] as const)
  it(`an old Node alone answers the handshake of an MCP client with the command to run: ${how}`, async () => {
    await using place = await installPackage();
    const { command, version } = await findOldNode(place.path);
    const { code, answers } = await exchange(
      [...command, join(place.home, 'bin', file), ...words],
      [
        '{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{}}',
        'no JSON',
        'null',
        '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        '{"jsonrpc":"2.0","id":"one","method":"initialize","params":{}}',
      ],
    );
    const message = `workcrate: this is Node ${version}, and workcrate needs Node 26. ${remedy('stdio')}`;
    const error = { code: -32000, message };
    assert.deepEqual(answers, [
      { jsonrpc: '2.0', id: 0, error },
      { jsonrpc: '2.0', id: 'one', error },
    ]);
    assert.equal(code, 1);
    if (words.length > 0) recordProof('G4:old-node-answers-the-handshake');
  });

it('what an old Node reads has no syntax and no module name that came after Node 12', () => {
  for (const name of names.filter((one) => one !== 'start.js' && one.endsWith('.js'))) {
    const text = readFileSync(join(launchers, name), 'utf8').replaceAll(/\/\/.*|\/\*.*?\*\//gs, '');
    assert.doesNotMatch(text, /\?\?|\?\.[a-z[(]|[|&]{2}=|'node:|^await|\bclass\b|\.at\(|\d_\d/m, name);
  }
});
