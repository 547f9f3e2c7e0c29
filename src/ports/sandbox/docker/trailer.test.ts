import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createTrailerReader } from './output.ts';

const mark = Buffer.from('ababc');

test('the output and what is said after the mark are told apart however they are cut', () => {
  const near = fc
    .array(fc.constantFrom('a', 'b', 'c', 'ab', 'aba', 'x'), { maxLength: 20 })
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(
      near,
      fc.string(),
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 40, maxLength: 40 }),
      (output, said, sizes) => {
        fc.pre(!said.includes('\n'));
        const whole = Buffer.from(`${output}ababc${said}\n`);
        fc.pre(whole.indexOf(mark) === Buffer.byteLength(output));
        const reader = createTrailerReader(mark);
        const got: Buffer[] = [];
        for (let at = 0, i = 0; at < whole.length; i++)
          got.push(reader.take(whole.subarray(at, (at += sizes[i % 40]!))));
        assert.equal(Buffer.concat(got).toString(), output);
        assert.equal(reader.said, said);
      },
    ),
  );
});

test('what only looks like the beginning of a mark comes out in the end', () => {
  const reader = createTrailerReader(mark);
  assert.equal(reader.take(Buffer.from('xabab')).toString(), 'x');
  assert.equal(reader.rest().toString(), 'abab');
  assert.equal(reader.said, null);
});
