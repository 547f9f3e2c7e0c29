import assert from 'node:assert/strict';
import { duplexPair, PassThrough, Writable } from 'node:stream';
import { it } from 'node:test';
import { text } from 'node:stream/consumers';
import { limitPace, pump } from './pace.ts';

it('a second of work is free after a rest, and then each unit waits for its turn', () => {
  let now = 5000;
  const pace = limitPace(100, () => now);
  const waits = Array.from({ length: 103 }, () => pace());
  assert.deepEqual(
    waits.slice(0, 100),
    Array.from({ length: 100 }, () => 0),
  );
  assert.deepEqual(waits.slice(100).map(Math.round), [10, 20, 30]);
  now += 30;
  assert.equal(Math.round(pace(5)), 50);
  now += 60_000;
  assert.equal(pace(), 0);
});

it('small pieces go on together, and all of them arrive', async () => {
  const [from, far] = duplexPair();
  const writes: number[] = [];
  const to = new Writable({
    writev(chunks, done) {
      writes.push(chunks.length);
      done();
    },
    write(_chunk, _encoding, done) {
      writes.push(1);
      done();
    },
  });
  const finished = new Promise((resolve) => to.once('finish', resolve));
  for (let at = 0; at < 100; at++) far.write('x');
  far.end();
  pump(from, to, () => 0, 1);
  await finished;
  assert.equal(
    writes.reduce((sum, count) => sum + count, 0),
    100,
  );
  assert.ok(writes.length < 50, `${writes.length} writes`);
});

it('who sends too many small pieces waits, and loses nothing', async () => {
  const [from, to] = [new PassThrough(), new PassThrough()];
  let asked = 0;
  pump(from, to, (units) => ((asked += units!) % 30 === 0 ? 20 : 0), 1);
  const expected = Array.from({ length: 200 }, (_, at) => `${at},`);
  for (const piece of expected) from.write(piece);
  from.end();
  assert.equal(await text(to), expected.join(''));
  assert.equal(asked, 200);
});
