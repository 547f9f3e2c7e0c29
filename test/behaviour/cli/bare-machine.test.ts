import assert from 'node:assert/strict';
import { it } from 'node:test';
import { findBareMachineReason, makeBase, startBareMachine } from './bare-machine.testing.ts';

const reason = findBareMachineReason() || (await makeBase()) || false;
const options = { skip: reason };

/** What says that a library is missing, and how it is had. */
const install = (become: string): RegExp => new RegExp(`${become}apt-get install [-a-z ]*libatomic1`);
const raw = /error while loading shared libraries/;

it('on a bare Debian an ordinary user is told what Node lacks, by every way to start', options, async () => {
  await using machine = await startBareMachine();
  for (const line of ['npm start', 'npm test', 'npx workcrate doctor', 'node bin/workcrate.js doctor']) {
    const { code, stderr } = await machine.run('ada', line);
    assert.equal(code, 1, `${line}: ${stderr}`);
    assert.match(stderr, install('sudo '), line);
    assert.doesNotMatch(stderr, raw, line);
  }
  const launched = await machine.run('ada', 'npm start', { WORKCRATE_NO_INSTALL: '1' });
  assert.equal(launched.code, 1);
  assert.match(launched.stderr, /needs libatomic\.so\.1, which is missing here\. Install it: sudo apt-get/);
});

it('over stdio the handshake is answered with what Node lacks', options, async () => {
  await using machine = await startBareMachine();
  const request = '{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}\n';
  for (const line of ['npx workcrate stdio', 'node bin/stdio.js']) {
    const { code, stdout } = await machine.run('ada', line, {}, request);
    const { id, error } = JSON.parse(stdout) as { id: number; error: { message: string } };
    assert.equal(id, 7);
    assert.match(error.message, install('sudo '), line);
    assert.equal(code, 1);
  }
});

it('on a bare Debian root gets what Node and code need, and the server starts', options, async (t) => {
  await using machine = await startBareMachine();
  t.diagnostic(`started with Node ${machine.version}`);
  const refused = await machine.run('root', 'npm start', { WORKCRATE_NO_INSTALL: '1' });
  assert.match(refused.stderr, install(': '));

  const tested = await machine.run('root', 'npm test -- src/platform/text/filenames');
  assert.match(tested.stderr, /installing, for Node to start: apt-get install \S+ libatomic1/);
  assert.match(tested.stdout, /[1-9]\d* passed, 0 failed, 0 skipped\n$/, tested.stderr);

  await machine.run('root', 'dpkg --remove libatomic1');
  const server = machine.start('root', 'npm start -- --port 0');
  const output = { stdout: '', stderr: '' };
  server.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  for await (const text of server.stdout.setEncoding('utf8')) {
    output.stdout += text as string;
    if (output.stdout.includes('listening on')) break;
  }
  assert.match(output.stderr, /installing, for Node to start: apt-get install \S+ libatomic1/);
  const url = /listening on (\S+)/.exec(output.stdout)?.[1];
  assert.ok(url, output.stderr);
  assert.equal((await fetch(`${url}/readyz`)).status, 200);
});
