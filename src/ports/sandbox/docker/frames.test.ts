import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readDockerFrames } from './output.ts';

test('frames come apart the same way however the stream is cut', async () => {
  const frame = fc.record({ output: fc.constantFrom(1, 2), bytes: fc.uint8Array({ maxLength: 40 }) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(frame, { maxLength: 8 }),
      fc.infiniteStream(fc.integer({ min: 1, max: 20 })),
      async (frames, cuts) => {
        const whole = Buffer.concat(
          frames.map(({ output, bytes }) => Buffer.concat([header(output, bytes.length), bytes])),
        );
        const got = { 1: [] as Buffer[], 2: [] as Buffer[] };
        for await (const { output, bytes } of readDockerFrames(cutUp(whole, cuts)))
          got[output as 1 | 2].push(bytes);
        for (const output of [1, 2] as const) {
          const sent = Buffer.concat(
            frames.filter((frame) => frame.output === output).map(({ bytes }) => bytes),
          );
          assert.deepEqual(Buffer.concat(got[output]), sent);
        }
      },
    ),
  );
});

function header(output: number, length: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes[0] = output;
  bytes.writeUInt32BE(length, 4);
  return bytes;
}

async function* cutUp(whole: Buffer, cuts: Iterator<number>): AsyncGenerator<Buffer> {
  for (let at = 0; at < whole.length;) {
    const size = cuts.next().value as number;
    yield whole.subarray(at, (at += size));
  }
}
