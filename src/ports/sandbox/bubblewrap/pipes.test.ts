import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { eventually } from '../../../platform/eventually.testing.ts';
import { collectText } from '../../../platform/streams.ts';
import { openWorkerPipes } from './pipes.ts';

const skip = process.platform !== 'linux' && 'pipes are opened by way of /proc, which Linux has';

/** Pipes of a process that holds their other ends, so that they never end by themselves. */
function held(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-pipes-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const paths = ['task', 'stdin', 'stdout', 'stderr', 'status', 'report'].map((name) => join(folder, name));
  execFileSync('mkfifo', paths);
  const numbers = paths.map((path) => openSync(path, constants.O_RDWR));
  t.after(() => numbers.forEach((number) => closeSync(number)));
  const ends = openWorkerPipes(process.pid, numbers);
  t.after(() => {
    for (const writer of [ends.task, ends.stdin]) writer.close();
    for (const reading of [ends.stdout, ends.stderr, ends.status, ends.report]) reading.close();
  });
  return { stdout: ends.stdout, path: paths[2]!, say: (text: string) => writeSync(numbers[2]!, text) };
}

/** How many descriptors of this process are of that file. */
const countOpen = (path: string): number =>
  readdirSync('/proc/self/fd').filter((fd) => readTarget(`/proc/self/fd/${fd}`) === path).length;

function readTarget(link: string): string | null {
  try {
    return readlinkSync(link);
  } catch {
    // That of the listing itself.
    return null;
  }
}

/** As on a machine that is busy with other things. */
const stall = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

test('what is in a pipe comes out of it, however late the server gets to look', { skip }, async (t) => {
  const { stdout, say } = held(t);
  const text = collectText(stdout.chunks);
  say('last words');
  stdout.end();
  stall(400);
  assert.equal(await text, 'last words');
});

test('what comes after that comes too', { skip }, async (t) => {
  const { stdout, say } = held(t);
  say('first');
  stdout.end();
  stall(400);
  let text = '';
  for await (const chunk of stdout.chunks) {
    if (text === '') say(', and then');
    text += Buffer.from(chunk).toString();
  }
  assert.equal(text, 'first, and then');
});

test('a pipe that somebody holds ends all the same, with all that was in it', { skip }, async (t) => {
  const { stdout, say } = held(t);
  const text = collectText(stdout.chunks);
  say('x'.repeat(50_000));
  stdout.end();
  assert.equal((await text).length, 50_000);
});

test('who stops reading closes the pipe, so that nobody waits for room in it', { skip }, async (t) => {
  const { stdout, path, say } = held(t);
  const before = countOpen(path);
  say('something');
  for await (const chunk of stdout.chunks) {
    assert.ok(chunk.length > 0);
    break;
  }
  await eventually(() => countOpen(path) === before - 1);
});
