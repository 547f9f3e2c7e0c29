import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  body,
  bodyOf,
  closing,
  fileObject,
  noise,
  received,
  serve,
  streamObject,
} from './loopback.testing.ts';
import type { BodySegment } from './transfer.ts';

const SIZE = 3_000_000;
const source = noise(SIZE);

/** Ranges of every size class, small ones more often. */
const range = fc
  .tuple(fc.nat(SIZE), fc.oneof(fc.nat(200), fc.nat(70_000), fc.nat(SIZE)))
  .map(([start, length]) => ({ start, end: Math.min(start + length, SIZE) }));
const segment = fc.record({ from: fc.constantFrom('memory', 'file', 'stream'), range });

test('any list of segments arrives byte for byte, listed or generated', async () => {
  await using file = await fileObject(source);
  const stream = streamObject(source, 50_000);
  await fc.assert(
    fc.asyncProperty(fc.array(segment, { maxLength: 12 }), fc.boolean(), async (list, generated) => {
      const segments = list.map(({ from, range: { start, end } }): BodySegment =>
        from === 'memory'
          ? { bytes: source.subarray(start, end) }
          : { object: from === 'file' ? file : stream, start, end },
      );
      const expected = Buffer.concat(list.map(({ range: { start, end } }) => source.subarray(start, end)));
      const answer = body(() => (generated ? generate(segments) : segments), {
        length: expected.length,
      });
      await using server = await serve(answer);
      assert.ok(bodyOf(await received(server.port, closing())).equals(expected));
      assert.deepEqual(await server.outcomes[0], { sent: expected.length, complete: true });
    }),
    { numRuns: 60 },
  );
});

async function* generate(segments: BodySegment[]): AsyncGenerator<BodySegment> {
  yield* segments;
}
