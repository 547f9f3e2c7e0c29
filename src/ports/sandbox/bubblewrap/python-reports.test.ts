import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { it } from 'node:test';
import { collectText } from '../../../platform/streams.ts';
import { insideFolder } from '../inside-folder.ts';
import type { Report } from '../sandbox.ts';
import { readSessionFrames } from '../sessions/frames.ts';

it('a run of Python reports its last value, displays and opened files, and what it forks reports nothing', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'workcrate-run-'));
  writeFileSync(join(folder.path, 'data.txt'), 'data');
  const { reports, out, code } = await run(
    folder.path,
    `import os
display({'a': 1})
if os.fork() == 0:
    display('in the child')
    os._exit(0)
os.wait()
open('data.txt').read()
'x' * 5000`,
  );
  assert.deepEqual([code, out], [0, "'in the child'\n"]);
  const results = reports.filter(({ header }) => header['type'] === 'result');
  assert.deepEqual(
    results.map(({ header }) => [header['cell'], header['kind'], header['cut']]),
    [
      [0, 'display', false],
      [0, 'value', true],
    ],
  );
  assert.equal(results[1]!.payload.length, 5002);
  const opened = reports.find(({ header }) => header['type'] === 'opened')!.header;
  assert.deepEqual(opened['paths'], [join(folder.path, 'data.txt')]);
});

it('at the end no report is cut and none begins, whatever threads still show', async () => {
  const code = `import os, sys, threading, time
sys.path.insert(0, sys.argv[1])
from workcrate_inside.frames import FrameWriter
writer = FrameWriter(1)
def show():
    while True: writer.write({}, b'x' * 1_000_000)
for _ in range(3): threading.Thread(target=show, daemon=True).start()
time.sleep(0.1)
writer.finish()
os.write(1, b'the end')
time.sleep(0.3)
os._exit(0)`;
  const python = spawn('python3', ['-c', code, insideFolder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const written = Buffer.concat(await Array.fromAsync(python.stdout as AsyncIterable<Buffer>));
  // Lengths in 8 bytes, `{}`, and the payload.
  const frames = written.subarray(0, -7);
  assert.equal(written.toString('latin1', frames.length), 'the end');
  assert.equal(frames.length % 1_000_010, 0);
});

it('signals that raise while it reports leave no half of a report', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'workcrate-run-'));
  const { reports } = await run(
    folder.path,
    `import signal
class Stop(BaseException): pass
def stop(*_): raise Stop
class Big:
    data = b'y' * 3_000_000
    def _repr_png_(self): return self.data
signal.signal(signal.SIGALRM, stop)
for i in range(12):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0004 * (i + 1))
        display(Big())
        signal.setitimer(signal.ITIMER_REAL, 0)
        # Python looks for signals when it jumps back: here, and not after the try.
        for _ in range(3): pass
    except Stop: pass
'over'`,
  );
  const results = reports.filter(({ header }) => header['type'] === 'result');
  // What was being displayed when a signal came is written by another thread, and may come after it.
  assert.ok(results.some(({ header }) => header['text'] === "'over'"));
  for (const { payload } of results) assert.ok(payload.every((byte) => byte === 'y'.charCodeAt(0)));
});

async function run(folder: string, code: string) {
  const secret = randomBytes(16);
  const child = spawn('/usr/bin/python3', [join(insideFolder, 'run.py')], {
    stdio: ['ignore', 'pipe', 'inherit', 'pipe', 'pipe'],
    timeout: 20_000,
    killSignal: 'SIGKILL',
  });
  const [, stdout, , task, frames] = child.stdio as unknown as [null, Readable, null, Writable, Readable];
  task.end(`${JSON.stringify({ folder, secret: secret.toString('hex'), roots: [folder] })}\0${code}`);
  const reports: Report[] = [];
  const collect = async (): Promise<void> => {
    for await (const report of readSessionFrames(frames, secret)) reports.push(report);
  };
  const ended = new Promise((resolve) => child.once('close', resolve));
  const [out] = await Promise.all([collectText(stdout), collect(), ended]);
  return { reports, out, code: child.exitCode };
}
