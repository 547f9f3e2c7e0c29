import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseScriptReference, scriptNameForm, toScriptLabel } from './names.ts';

test('a reference is a name, or a name and a version, and nothing else', () => {
  assert.deepEqual(parseScriptReference('plot'), { name: 'plot', version: null });
  assert.deepEqual(parseScriptReference('Plot.2_x-y@12'), { name: 'Plot.2_x-y', version: 12 });
  for (const text of ['', '@1', 'a@', 'a@0', 'a@01', 'a@-1', 'a@1e3', 'a@1 ', ' a', 'a\n', '.a', 'a/b', 'ä'])
    assert.equal(parseScriptReference(text), null, text);
});

test('whatever is taken for a name is one path component that is no option, and is read back as it was written', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary', maxLength: 70 }),
        fc.stringMatching(/^[\w.@/\\-]{0,70}$/),
        fc.stringMatching(scriptNameForm),
      ),
      fc.integer({ min: 1, max: 999_999_999 }),
      (name, version) => {
        const reference = parseScriptReference(name);
        if (reference === null) return;
        assert.doesNotMatch(reference.name, /[/\\\s\0]|^[.-]|[^\x21-\x7e]/);
        assert.ok(reference.name.length <= 64);
        if (reference.version !== null) return;
        assert.deepEqual(parseScriptReference(toScriptLabel({ name, version })), { name, version });
      },
    ),
  );
});
