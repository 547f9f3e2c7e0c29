import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startInside, type InsideSession } from './session.testing.ts';

describe('checkpoints of a Python session', () => {
  let session: InsideSession;
  before(async () => {
    session = await startInside('python');
  });
  after(() => session?.[Symbol.asyncDispose]());

  const take = async (command: string, options: object): Promise<unknown> => {
    const { last } = await session.command(command, options);
    return last['ok'] === true ? true : [last['why'], String(last['details']).split('. ')[0]];
  };

  it('bring back variables, the place in open files and random numbers, as often as wanted', async () => {
    await session.send(
      'import random, os\nopen("lines", "w").write("1\\n2\\n3\\n")\nfile = open("lines"); file.readline()\nx = [1]\nrandom.seed(5)',
    );
    assert.equal(await take('checkpoint', { name: 'a' }), true);
    const first = await session.value('x.append(2); (x, file.readline(), random.random())');
    await session.send('del x; import threading; threading.Thread(target=input).start()');
    for (let i = 0; i < 2; i++) {
      assert.equal(await take('restore', { name: 'a' }), true);
      assert.equal(await session.value('x.append(2); (x, file.readline(), random.random())'), first);
    }
  });

  it('end what was started after them, and nothing that runs before', async () => {
    await session.send(
      'import subprocess\nold = subprocess.Popen(["sleep", "100"])\nimport time; time.sleep(0.03)',
    );
    assert.equal(await take('checkpoint', { name: 'b' }), true);
    const pid = Number(await session.value('new = subprocess.Popen(["sleep", "100"]); new.pid'));
    assert.equal(await take('restore', { name: 'b' }), true);
    // One that was killed has an entry until it is reaped.
    await session.send(
      "def lives(pid):\n  try: return open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[0] not in 'ZX'\n  except OSError: return False",
    );
    assert.equal(await session.value(`lives(${pid}), lives(old.pid)`), '(False, True)');
    await session.send('os.kill(old.pid, 9)');
  });

  it('are refused with other threads, with open sockets, without a name that exists, and when there are five', async () => {
    await session.send(
      'import threading\nstop = threading.Event()\nthread = threading.Thread(target=stop.wait, name="waiter"); thread.start()',
    );
    const refused = ['threads', '1 other thread is running: waiter'];
    assert.deepEqual(await take('checkpoint', { name: 'c' }), refused);
    assert.deepEqual(await take('fork', { to: 'second' }), refused);
    await session.send('stop.set(); thread.join()\nimport socket\ns = socket.socket()');
    assert.match(
      String(await take('checkpoint', { name: 'c' })),
      /^sockets,1 socket is open: descriptor \d+$/,
    );
    await session.send('s.close()');
    assert.deepEqual(await take('restore', { name: 'none' }), ['name', 'there is no such checkpoint']);
    for (const name of ['c', 'd', 'e']) assert.equal(await take('checkpoint', { name }), true);
    assert.deepEqual(await take('checkpoint', { name: 'f' }), ['many', 'it has 5 checkpoints already']);
    assert.equal(await take('checkpoint', { name: 'e' }), true);
    assert.equal(await take('drop', { name: 'e' }), true);
    assert.equal(await take('checkpoint', { name: 'f' }), true);
  });

  it('a fork is a second session with the same state, and each goes its own way', async () => {
    await session.send('x = 1; parent = os.getppid()');
    assert.equal(await take('fork', { to: 'second' }), true);
    assert.deepEqual(await take('fork', { to: 'second' }), ['name', 'there is such a branch already']);
    await session.send('x = 2');
    assert.equal(await session.value('x', { branch: 'second' }), '1');
    assert.equal(await session.value('input()', { branch: 'second', stdin: 'for it' }), "'for it'");
    assert.equal(await session.value('os.getppid() == parent', { branch: 'second' }), 'True');
    assert.equal(await take('checkpoint', { branch: 'second', name: 'own' }), true);
    const { last } = await session.send('import sys; sys.exit(2)', { branch: 'second' });
    assert.equal(last['status'], 'exit');
    const { last: end } = await session.wait(({ type }) => type === 'ended');
    assert.deepEqual([end['branch'], end['code']], ['second', 2]);
    assert.equal(await session.value('x'), '2');
    assert.deepEqual(await take('restore', { branch: 'second', name: 'own' }), [
      'branch',
      'there is no such branch',
    ]);
  });

  it('a user’s own wait for children sees none of ours', async () => {
    assert.equal(await take('checkpoint', { name: 'a' }), true);
    assert.equal(
      await session.value(
        'try:\n    found = os.waitpid(-1, os.WNOHANG)\nexcept ChildProcessError:\n    found = None\nfound is None',
      ),
      'True',
    );
  });

  it('end with their session', async () => {
    assert.equal(await take('close', {}), true);
    const { last } = await session.wait(({ type }) => type === 'ended');
    assert.deepEqual([last['branch'], last['code']], ['main', 0]);
    if (session.process.exitCode === null)
      await new Promise((resolve) => session.process.once('exit', resolve));
    assert.equal(session.process.exitCode, 0);
  });
});
