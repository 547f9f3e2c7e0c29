import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { it } from 'node:test';
import { collectText } from '../../../platform/streams.ts';
import { splitOutput } from './cell-output.ts';

/** A pipe with a writer in another process, which writes what it is told to. */
function startEcho() {
  const echo = spawn('cat', { stdio: ['pipe', 'pipe', 'inherit'] });
  const write = (text: string): Promise<void> =>
    new Promise((resolve, reject) => echo.stdin.write(text, (error) => (error ? reject(error) : resolve())));
  return { stdout: echo.stdout, write, [Symbol.dispose]: () => void echo.kill() };
}

it('what was written before the end of a cell is in it, however slowly it is read', async () => {
  using echo = startEcho();
  const output = splitOutput(echo.stdout);
  const text = 'x'.repeat(500_000);
  const chunks = output.begin();
  const reading = (async () => {
    let length = 0;
    for await (const chunk of chunks) {
      length += chunk.length;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    return length;
  })();
  await echo.write(text);
  // The writer has it; that it has passed it on is what a cell says when it is done.
  await new Promise((resolve) => setTimeout(resolve, 200));
  await output.finish();
  assert.equal(await reading, text.length);
});

it('what comes between cells belongs to none', async () => {
  using echo = startEcho();
  const output = splitOutput(echo.stdout);
  const first = collectText(output.begin());
  await echo.write('first');
  await new Promise((resolve) => setTimeout(resolve, 100));
  await output.finish();
  await echo.write('late');
  await new Promise((resolve) => setTimeout(resolve, 100));
  const second = collectText(output.begin());
  await echo.write('second');
  await new Promise((resolve) => setTimeout(resolve, 100));
  await output.finish();
  assert.deepEqual([await first, await second], ['first', 'second']);
});

it('a reader that stops early does not stop the writer, and a pipe that has ended gives nothing', async () => {
  using echo = startEcho();
  const output = splitOutput(echo.stdout);
  const chunks = output.begin();
  const reading = (async () => {
    for await (const _ of chunks) break;
  })();
  await echo.write('x'.repeat(1_000_000));
  await reading;
  await output.finish();
  echo[Symbol.dispose]();
  await new Promise((resolve) => echo.stdout.once('close', resolve));
  const last = collectText(output.begin());
  await output.finish();
  assert.equal(await last, '');
});
