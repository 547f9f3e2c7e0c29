import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { encodeFrame, FrameReader, measureValue, type CallRequest } from './frames.ts';

const requestArbitrary: fc.Arbitrary<CallRequest> = fc.oneof(
  fc.record({
    id: fc.nat(),
    call: fc.string({ maxLength: 200 }),
    arguments: fc.dictionary(
      // That one is left out, see below.
      fc.string().filter((name) => name !== '__proto__'),
      fc.jsonValue({ maxDepth: 5 }).map((value) => value as unknown),
    ),
  }),
  fc.record({
    id: fc.nat(),
    save: fc.string({ minLength: 1, maxLength: 100 }),
    path: fc.string({ minLength: 1, maxLength: 100 }),
  }),
);

it('requests are read as they were sent, however the bytes are cut', () => {
  fc.assert(
    fc.property(fc.array(requestArbitrary, { maxLength: 8 }), fc.array(fc.nat(5000)), (requests, cuts) => {
      const bytes = Buffer.concat(requests.map(encodeFrame));
      const reader = new FrameReader();
      const read: CallRequest[] = [];
      const places = [...new Set([...cuts.filter((cut) => cut < bytes.length), bytes.length])];
      let from = 0;
      for (const to of places.sort((one, other) => one - other)) {
        read.push(...reader.read(bytes.subarray(from, to)));
        from = to;
      }
      assert.deepEqual(JSON.parse(JSON.stringify(read)), JSON.parse(JSON.stringify(requests)));
    }),
  );
});

it('an argument named __proto__ is left out, and the others stay', () => {
  const given = JSON.parse('{"__proto__": {"polluted": 1}, "query": "x"}') as Record<string, unknown>;
  const [read] = [...new FrameReader().read(encodeFrame({ id: 1, call: 'search', arguments: given }))];
  assert.ok(read !== undefined && 'arguments' in read);
  assert.deepEqual(Object.keys(read.arguments), ['query']);
  assert.equal((read.arguments as { polluted?: number }).polluted, undefined);
});

it('any other bytes are refused, or wait for more', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => {
      try {
        for (const _ of new FrameReader().read(Buffer.from(bytes))) assert.fail('it was read as a request');
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'invalid_input');
      }
    }),
  );
});

it('a value is measured without being written, and refused where it is too large or too deep', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 20 }), (value) => {
      const written = JSON.stringify(value).length;
      const measured = measureValue(value, Number.MAX_SAFE_INTEGER)!;
      assert.ok(measured >= written / 12, `${measured} for ${written}`);
      assert.equal(measureValue(value, measured - 1), null);
    }),
  );
  let deep: unknown = 1;
  for (let depth = 0; depth < 200; depth++) deep = [deep];
  assert.equal(measureValue(deep, Number.MAX_SAFE_INTEGER), null);
});
