import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startInside, type InsideSession, type Reported } from './session.testing.ts';

describe('a Bash session, seen from inside', () => {
  let session: InsideSession;
  before(async () => {
    session = await startInside('bash');
  });
  after(() => session?.[Symbol.asyncDispose]());

  /** The status, and what was printed. */
  const run = async (
    code: string,
    stdin = '',
  ): Promise<{ end: Reported['last']; out: string; err: string }> => {
    session.out = session.err = '';
    const { last } = await session.send(code, { stdin });
    // What a cell prints is there before its end is told, and is read a moment later.
    await session.send('echo "[end]"; echo "[end]" >&2');
    await session.prints(/\[end\]/);
    return { end: last, out: session.out.split('[end]')[0]!, err: session.err.split('[end]')[0]! };
  };

  it('keeps variables, functions, exports, aliases and the folder', async () => {
    const { end } = await run(
      'x=1; export E=2; f() { echo "f $1"; }; mkdir -p sub; cd sub; alias l="echo aliased"',
    );
    assert.deepEqual([end['status'], end['code'], end['folder']], ['ok', 0, `${session.folder}/sub`]);
    assert.equal(
      (await run('echo $x; f 3; sh -c "echo \\$E"; l; basename "$PWD"')).out,
      '1\nf 3\n2\naliased\nsub\n',
    );
    assert.equal((await run('echo 123; printf "no newline"')).out, '123\nno newline');
  });

  it('tells the exit status; errors of syntax end the cell only', async () => {
    assert.deepEqual((await run('(exit 7)')).end['code'], 7);
    for (const code of ["echo 'open", 'if true; then', 'echo $((1 +', 'x=(', ')', '${', 'echo "$(']) {
      const { end, err } = await run(code);
      assert.deepEqual([end['status'], err !== ''], ['error', true], code);
    }
    assert.equal((await run('set -u; echo $nothing; echo not')).out, '');
    assert.equal((await run('set +u; echo kept $x')).out, 'kept 1\n');
  });

  it('each cell has its own input, and none of them reads our lines', async () => {
    assert.equal((await run('read a; cat; echo $a', 'one\ntwo\n')).out, 'two\none\n');
    assert.equal((await run('cat; read b || echo nothing')).out, 'nothing\n');
  });

  it('set -e at the start ends the cell, not the session', async () => {
    const { end, out } = await run('# careful\nset -euo pipefail\necho a\nfalse | cat\necho not');
    assert.deepEqual([end['status'], end['code'], out], ['error', 1, 'a\n']);
    assert.equal((await run('false; echo goes on; set +u; set +o pipefail')).out, 'goes on\n');
    const tolerated = await run(
      'set -o errexit; x=$(false; echo 5); if false; then :; fi; false || echo or $x',
    );
    assert.equal(tolerated.out, 'or 5\n');
    assert.equal((await run("cat <<'END'\nset -e\nfalse\nEND")).out, 'set -e\nfalse\n');
  });

  it('an interrupt ends all of the cell and what it started, and keeps the shell', async () => {
    session.out = '';
    for (const [at, code] of [
      'sleep 100; echo not',
      'while :; do :; done; echo not',
      'sleep 100 | cat; echo not',
      'for i in 1 2 3; do sleep 100; done; echo not',
      'echo $(sleep 100); echo not',
      '(while :; do echo late; sleep 0.01; done) & sleep 100; echo not',
    ].entries()) {
      const { last } = await session.interrupt(`echo "at ${at}"; ${code}`, new RegExp(`at ${at}`));
      assert.deepEqual([last['status'], last['code']], ['interrupted', 130], code);
    }
    assert.doesNotMatch(session.out, /not/);
    assert.equal((await run('sleep 0.05; echo $E')).out, '2\n');
  });

  it('survives code that redefines, traps or closes what we use', async () => {
    for (const code of [
      'eval() { echo mine; }; printf() { echo mine; }; PROMPT_COMMAND=: PS1="$ "; PS0=x',
      'exec 61<&- 62<&- 63>&- 3>&-',
      "trap 'echo caught' ERR DEBUG; trap - ERR DEBUG",
      'unset PWD; IFS=x; set -f; set +f; shopt -s nullglob',
      'exec 0</dev/null',
    ]) {
      const { end } = await run(code);
      assert.equal(end['status'], 'ok', code);
      assert.equal((await run('echo still here')).out.includes('still here'), true, code);
    }
  });

  it('exit and exec end the session', async () => {
    for (const code of ['exit 3', 'exec sh -c "exit 3"', 'false; set -e; f() { return 3; }; f']) {
      await using ending = await startInside('bash');
      const { last } = await ending.send(code);
      assert.deepEqual([last['status'], last['code']], ['exit', 3], code);
      assert.equal((await ending.wait(({ type }) => type === 'ended')).last['code'], 3);
    }
  });

  it('cannot be copied, and says so', async () => {
    const { last } = await session.command('checkpoint', { name: 'a' });
    assert.deepEqual([last['ok'], last['why']], [false, 'language']);
  });
});
