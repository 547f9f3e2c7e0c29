import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { collectBytes, collectText, fillBuffer } from './streams.ts';

/** Gives out the same memory again and again, as a reader of files does, and notes how much was asked for. */
async function* reusingMemory(text: string, asked: { chunks: number; closed: boolean }) {
  const memory = Buffer.alloc(2);
  try {
    for (let at = 0; at < text.length; at += 2) {
      asked.chunks++;
      yield memory.subarray(0, memory.write(text.slice(at, at + 2), 'latin1'));
    }
  } finally {
    asked.closed = true;
  }
}

const start = () => ({ chunks: 0, closed: false });
const tooLong = () => new RangeError('too long');

describe('a stream in memory', () => {
  it('is whole, although its chunks share their memory', async () => {
    assert.equal(await collectText(reusingMemory('abcdefg', start())), 'abcdefg');
    assert.deepEqual(await collectBytes(reusingMemory('', start())), Buffer.alloc(0));
  });

  it('may be as long as the limit; one byte more is an error of the caller, and closes the stream', async () => {
    assert.equal(await collectText(reusingMemory('abcd', start()), { limit: 4, tooLong }), 'abcd');
    const asked = start();
    await assert.rejects(collectBytes(reusingMemory('abcdefghij', asked), { limit: 3, tooLong }), RangeError);
    assert.deepEqual(asked, { chunks: 2, closed: true });
  });

  it('is cut at the limit where the caller wants only its start', async () => {
    const asked = start();
    const text = await collectText(reusingMemory('abcdefghij', asked), { limit: 3, tooLong: 'truncate' });
    assert.equal(text, 'abc');
    assert.deepEqual(asked, { chunks: 2, closed: true });
  });

  it('does not split a character that two chunks share', async () => {
    const bytes = Buffer.from('ä€😀');
    const single = (async function* () {
      for (const byte of bytes) yield Uint8Array.of(byte);
    })();
    assert.equal(await collectText(single), 'ä€😀');
  });
});

describe('memory that is filled by a stream', () => {
  it('takes what fits, and says how much came', async () => {
    const target = Buffer.alloc(5, '-');
    assert.equal(await fillBuffer(target, reusingMemory('abc', start())), 3);
    assert.equal(target.toString(), 'abc--');
    assert.equal(await fillBuffer(target, reusingMemory('0123456789', start())), 5);
    assert.equal(target.toString(), '01234');
  });
});
