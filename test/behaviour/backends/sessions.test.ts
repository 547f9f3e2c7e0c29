import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { noSandbox, run, useCodeServer } from '../../code.testing.ts';
import { backends, upload, type ToolReply } from '../../server.testing.ts';

describe(`sessions, on ${backends}`, { skip: noSandbox }, () => {
  const server = useCodeServer();

  const succeed = async (tool: string, input: Record<string, unknown>): Promise<ToolReply> => {
    const reply = await server().call(tool, input);
    assert.equal(reply.failed, false, `${tool}: ${reply.text}`);
    return reply;
  };
  const send = (session_id: string, code: string, more: Record<string, unknown> = {}) =>
    succeed('send_to_session', { session_id, code, ...more });
  const manage = (session_id: string, action: string, name?: string) =>
    succeed('manage_session', { session_id, action, ...(name === undefined ? {} : { name }) });
  const start = async (more: Record<string, unknown> = {}): Promise<string> =>
    (await succeed('start_session', { language: 'python', ...more })).data.session_id;
  const close = (session_id: string) => succeed('close_session', { session_id });

  it('Python keeps what a cell left, and every cell is an execution', async () => {
    const session = await start();
    const first = await send(session, 'import math, os\nx = 40\ndef f(n): return n + x\nos.chdir("/tmp")');
    assert.deepEqual(
      { ...first.data.session },
      { session_id: session, name: null, cell: 1, state: 'kept', lost_because: null, notes: [] },
    );
    const second = await send(session, 'print(f(2), math.floor(2.5), os.getcwd(), input())', { stdin: 'in' });
    assert.equal(second.data.stdout, '42 2 /tmp in\n');
    assert.match(second.text, new RegExp(`Session ${session}, cell 2: state kept\\.`));
    const { data } = await succeed('get_execution', { execution_id: second.data.execution_id });
    assert.deepEqual(
      [data.session_id, data.cell, data.state, data.tool],
      [session, 2, 'kept', 'send_to_session'],
    );
    const failing = await send(session, '1 / 0');
    assert.deepEqual([failing.data.exit_code, failing.data.session.state], [1, 'kept']);
    assert.match(failing.data.stderr, /ZeroDivisionError/);
    assert.equal((await send(session, 'print(x)')).data.stdout, '40\n');
    const closed = await close(session);
    assert.match(closed.text, /after 4 cells/);
    recordProof('D11:python-keeps-state', 'D11:every-cell-is-an-execution', 'D11:start-send-close-list');
  });

  it('Node and Bash keep what a cell left', async () => {
    for (const [language, first, second, out] of [
      [
        'node',
        'const x = await Promise.resolve(40); function f(n) { return n + x }',
        'console.log(f(2))',
        '42\n',
      ],
      [
        'bash',
        'export X=40; f() { echo $(($1 + X)); }; cd /tmp',
        'f 2; pwd; bash -c "echo $X"',
        '42\n/tmp\n40\n',
      ],
    ] as const) {
      const session = await start({ language });
      assert.equal((await send(session, first)).data.session.state, 'kept');
      const used = await send(session, second);
      assert.equal(used.data.stdout, out, used.text);
      const refused = await server().call('manage_session', { session_id: session, action: 'checkpoint' });
      assert.equal(refused.code, 'checkpoint_refused', refused.text);
      await close(session);
    }
    recordProof('D11:node-keeps-state', 'D11:bash-keeps-state');
  });

  it('session_id of execute_code is an id or a name, which makes a session', async () => {
    const ask = (more: Record<string, unknown>) =>
      server().call('execute_code', { language: 'python', session_id: 'mine', code: 'x = 1', ...more });
    const made = await ask({});
    assert.match(made.text, /This is a new session/);
    const { session_id } = made.data.session;
    assert.equal((await ask({ code: 'print(x)' })).data.stdout, '1\n');
    assert.equal((await ask({ code: 'print(x)', session_id })).data.stdout, '1\n');
    const other = await ask({ language: 'bash' });
    assert.deepEqual([other.code, /runs python, not bash/.test(other.text)], ['invalid_input', true]);
    assert.equal((await ask({ working_dir: '/tmp' })).code, 'invalid_input');
    assert.equal((await ask({ session_id: 'sess_0123456789ab' })).code, 'not_found');
    assert.equal((await ask({ session_id: 'a b' })).code, 'invalid_input');
    const anew = await ask({ code: 'print("x" in globals())', reset: true });
    assert.equal(anew.data.stdout, 'False\n');
    assert.notEqual(anew.data.session.session_id, session_id);
    assert.match(anew.text, /Begun anew/);
    const ended = await ask({ session_id });
    assert.deepEqual([ended.code, /begun anew with reset/.test(ended.text)], ['session_ended', true]);
    await close('mine');
    recordProof('D1:session-id', 'D11:session-id-is-an-id-or-a-name', 'D11:closed-and-made-up-are-refused');
  });

  it('inputs are put into the folder of the session, and what a cell makes is told', async () => {
    const session = await start();
    const file = await upload(server(), 'given.txt', 'given');
    const { data } = await send(session, 'open("made.txt", "w").write(open("given.txt").read())', {
      files: [file],
    });
    assert.deepEqual(data.artifacts.created, ['made.txt']);
    const { stdout } = await run(server(), 'bash', `cat /workspace/${session}/made.txt`);
    assert.equal(stdout, 'given');
    await close(session);
  });

  it('cells that come at once run in their order', async () => {
    const session = await start();
    const cells = ['import time; time.sleep(0.2); s = "a"', 's += "b"', 's += "c"; print(s)'];
    const replies = await Promise.all(cells.map((code) => send(session, code)));
    assert.deepEqual(
      replies.map(({ data }) => data.session.cell),
      [1, 2, 3],
    );
    assert.equal(replies[2]!.data.stdout, 'abc\n');
    await close(session);
    recordProof('D11:cells-in-order');
  });

  it('a cell in the background is followed by its id, and the next waits for it', async () => {
    const session = await start();
    const begun = await send(session, 'import time; time.sleep(0.3); x = 1', { background: true });
    assert.deepEqual([begun.data.end_reason, begun.data.session.state], ['running', null], begun.text);
    const next = await send(session, 'print(x)');
    assert.equal(next.data.stdout, '1\n');
    const { data } = await succeed('get_execution', { execution_id: begun.data.execution_id });
    assert.deepEqual([data.state, data.cell], ['kept', 1]);
    await close(session);
  });

  it('a cell that is out of time is interrupted, and nothing of it shows up later', async () => {
    const session = await start();
    const begin = 'import subprocess, time\nx = 1\nsubprocess.Popen(["bash", "-c", "sleep 1; echo late"])\n';
    const slow = await send(session, `${begin}time.sleep(60)`, { timeout_ms: 400 });
    assert.deepEqual([slow.data.timed_out, slow.data.session.state], [true, 'kept']);
    const next = await send(session, 'time.sleep(1.2); print(x)');
    assert.equal(next.data.stdout + next.data.stderr, '1\n');
    await close(session);
    recordProof('D11:late-output-shows-up-nowhere');
  });

  it('a cell that does not stop costs the state, and so does one that exits: the answers say why', async () => {
    const [stubborn, leaving] = [await start(), await start({ name: 'leaving' })];
    const ignoring = 'import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass';
    const killed = send(stubborn, ignoring, { timeout_ms: 200 });
    const left = await send(leaving, 'import os; os._exit(3)');
    assert.match(left.text, /state lost: the code ended its interpreter with exit code 3\./);
    const again = await succeed('execute_code', { language: 'python', code: '1', session_id: 'leaving' });
    assert.match(again.text, /without the variables of the one before.*with exit code 3/);
    const { data, text } = await killed;
    assert.deepEqual([data.timed_out, data.session.state], [true, 'lost']);
    assert.match(text, /state lost: a cell that was out of time did not stop when it was interrupted/);
    const after = await server().call('send_to_session', { session_id: stubborn, code: '1' });
    assert.deepEqual([after.code, /did not stop/.test(after.text)], ['session_ended', true]);
    const { data: listed } = await succeed('list_sessions', {});
    const ends = listed.sessions.map(({ end }: { end: { reason: string } | null }) => end?.reason ?? null);
    assert.ok(ends.includes('timeout') && ends.includes('exit') && ends.includes(null), String(ends));
    await close('leaving');
    recordProof('D11:kept-or-lost-and-why');
  });

  it('goes back to a checkpoint with the files of its own folder, and leaves others alone', async () => {
    const session = await start({ name: 'back' });
    await send(session, 'x = [1]\nopen("a.txt", "w").write("one")');
    assert.match((await manage(session, 'checkpoint', 'clean')).text, /Files saved: 1 \(3 bytes\)/);
    const shared = 'open("/workspace/shared.txt", "w").write("shared")';
    await send(session, `x.append(2)\nopen("a.txt", "w").write("two")\nopen("b.txt", "w")\n${shared}`);
    const fork = await manage(session, 'fork', 'side');
    const restored = await manage(session, 'restore', 'clean');
    assert.match(restored.text, /after cell 1; 1 cells since then are undone/);
    const look =
      'import os; print(x, open("a.txt").read(), os.path.exists("b.txt"), os.path.exists("/workspace/shared.txt"))';
    assert.equal((await send(session, look)).data.stdout, '[1] one False True\n');
    await manage(session, 'restore');
    assert.equal((await send('back', 'print(x)')).data.stdout, '[1]\n');
    const side = await send('side', `${look}; print(os.getcwd())`);
    assert.equal(side.data.stdout, `[1, 2] two True True\n/workspace/${fork.data.session_id}\n`);
    await send('side', 'x.append(3)');
    assert.equal((await send('back', 'print(x)')).data.stdout, '[1]\n');
    const replay = await manage('side', 'replay');
    assert.equal((await send(replay.data.session_id, 'print(x)')).data.stdout, '[1, 2, 3]\n');
    for (const one of [session, 'side', replay.data.session_id]) await close(one);
    assert.deepEqual(readdirSync(join(server().data, 'places/1/checkpoints')), []);
    recordProof('D20:checkpoint-and-restore-with-files', 'D20:shared-files-left-alone', 'D20:fork');
  });

  it('tracebacks, answers and the notebook number a cell alike, after a restore and in a fork', async () => {
    const fail = async (session: string, expected: number): Promise<void> => {
      const { data, text } = await send(session, 'raise ValueError("here")');
      assert.equal(data.session.cell, expected);
      assert.match(data.stderr, new RegExp(`File "cell ${expected}", line 1`));
      assert.match(text, new RegExp(`cell ${expected}: state kept`));
    };
    const session = await start();
    await send(session, 'x = 1');
    await manage(session, 'checkpoint');
    await send(session, 'x = 2');
    await manage(session, 'restore');
    await fail(session, 3);
    const { session_id: fork } = (await manage(session, 'fork')).data;
    await fail(fork, 4);
    await fail(session, 4);
    await fail(fork, 5);
    const { data } = await manage(fork, 'export');
    const notebook = (await (await fetch(data.notebook.downloadUrl)).json()) as {
      cells: { execution_count: number }[];
    };
    assert.deepEqual(
      notebook.cells.map(({ execution_count }) => execution_count),
      [1, 3, 4, 5],
    );
    const node = await start({ language: 'node' });
    await send(node, '1');
    assert.match((await send(node, 'throw new Error("here")')).data.stderr, /at cell-2:1:/);
    for (const one of [session, fork, node]) await close(one);
    recordProof('D20:one-number-for-a-cell');
  });

  it('what would not work as a copy is refused with its reason, and the session goes on', async () => {
    const session = await start();
    await send(
      session,
      'import threading\nwait = threading.Event()\nthreading.Thread(target=wait.wait, name="busy").start()',
    );
    const threads = await server().call('manage_session', { session_id: session, action: 'checkpoint' });
    assert.deepEqual(
      [threads.code, /thread.*busy/.test(threads.text)],
      ['checkpoint_refused', true],
      threads.text,
    );
    await send(session, 'wait.set()\nimport socket\ns = socket.socketpair()');
    const sockets = await server().call('manage_session', { session_id: session, action: 'fork' });
    assert.deepEqual([sockets.code, /socket/.test(sockets.text)], ['checkpoint_refused', true], sockets.text);
    await send(session, 'for one in s: one.close()\nprint("fine")');
    await manage(session, 'checkpoint');
    const none = await server().call('manage_session', {
      session_id: session,
      action: 'restore',
      name: 'no',
    });
    assert.equal(none.code, 'not_found');
    await close(session);
    recordProof('D20:unsafe-is-refused-with-its-reason');
  });

  it('a session is a notebook by link, and its log has a line for each cell', async () => {
    const session = await start({ name: 'book' });
    await send(session, 'print("out")\n40 + 2');
    await send(session, '1 / 0');
    const { data } = await manage(session, 'export');
    assert.equal(data.notebook.filename, 'book.ipynb');
    const notebook = (await (await fetch(data.notebook.downloadUrl)).json()) as {
      nbformat: number;
      cells: { source: string[] | string; outputs: { output_type: string }[] }[];
    };
    assert.deepEqual([notebook.nbformat, notebook.cells.length], [4, 2]);
    assert.deepEqual(
      notebook.cells.map(({ outputs }) => outputs.map(({ output_type }) => output_type)),
      [['stream', 'execute_result'], ['error']],
    );
    await close(session);
    const log = readFileSync(join(server().data, 'logs', `session-${session}.jsonl`), 'utf8');
    const events = log
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).event);
    assert.deepEqual(events, ['opened', 'cell', 'cell', 'ended']);
    recordProof('D20:export-as-notebook-by-link', 'D11:log-of-its-own');
  });

  it('one more than a user may have is refused', async () => {
    const open = await Promise.all(Array.from({ length: 5 }, () => start()));
    const { failed, text, code } = await server().call('start_session', { language: 'python' });
    assert.deepEqual(
      [failed, code, text],
      [true, 'quota_exceeded', 'Maximum 5 concurrent sessions reached. Close a session first.'],
    );
    for (const one of open) await close(one);
    await close(await start());
    recordProof('D11:at-most-5-per-user');
  });

  it('after a restart it is told that state was lost, and the cells can be replayed; idle ones are ended', async () => {
    const session = await start({ name: 'long' });
    await send(session, 'import time\nx = 5\nopen("f", "w").write("f")');
    await send(session, 'print(time.time_ns())');
    await manage(session, 'checkpoint');
    await server().restart({ sessionIdle: 1 });
    assert.ok(!existsSync(join(server().data, 'places/1/checkpoints', session)));
    const next = await succeed('execute_code', {
      language: 'python',
      code: '"x" in globals()',
      session_id: 'long',
    });
    assert.match(
      next.text,
      new RegExp(`the one before, ${session}, which ended because the server was stopped`),
    );
    assert.match(
      next.text,
      new RegExp(`To run its 2 cells again: manage_session with session_id ${session}`),
    );
    const replay = await manage(session, 'replay', 'again');
    assert.match(replay.text, /Ran 2 cells .*: 1 had other results\.\nCell 2: other stdout/);
    assert.equal((await send('again', 'print(x, open("f").read())')).data.stdout, '5 f\n');
    let ended: { name: string; end: { reason: string } | null }[] = [];
    await eventually(async () => {
      ended = (await succeed('list_sessions', {})).data.sessions;
      return ended.every(({ end }) => end !== null);
    });
    assert.equal(ended.find(({ name }) => name === 'again')!.end!.reason, 'idle');
    recordProof(
      'D11:idle-ones-ended-by-a-timer',
      'D11:lost-with-a-restart-is-told',
      'D20:replay-tells-what-differs',
    );
  });
});
