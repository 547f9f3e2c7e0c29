import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isSensitive, listOfferableTools } from './tools.ts';

const inputSchema = { type: 'object' as const };
const named = (name: string) => ({ name, inputSchema });

describe('the tools of a request', () => {
  it('have names that endpoints take', () => {
    const strange = ['a.b', 'a b', '', 'x'.repeat(65), 'ä', 'a/b'].map(named);
    assert.deepEqual(listOfferableTools([...strange, named('a_b-C9')]), [named('a_b-C9')]);
  });
});

describe('a call needs consent', () => {
  const cases = [
    [{ readOnlyHint: true }, false],
    [{ readOnlyHint: true, openWorldHint: true }, false],
    [{ readOnlyHint: false, destructiveHint: true, openWorldHint: false }, true],
    [{ readOnlyHint: false, destructiveHint: false, openWorldHint: true }, true],
    [{ readOnlyHint: false, destructiveHint: false, openWorldHint: false }, false],
    [{ destructiveHint: false }, true],
    [{}, true],
    [undefined, true],
  ] as const;
  for (const [annotations, expected] of cases)
    it(`${JSON.stringify(annotations) ?? 'without hints'}: ${expected ? 'yes' : 'no'}`, () =>
      assert.equal(isSensitive({ ...named('x'), ...(annotations ? { annotations } : {}) }), expected));
});
