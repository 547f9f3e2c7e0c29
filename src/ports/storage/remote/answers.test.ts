import assert from 'node:assert/strict';
import { it } from 'node:test';
import { demandDocument } from './remote.ts';

it('takes a page of something else for a failure of the store', () => {
  assert.equal(demandDocument('<R></R>', 'R'), '<R></R>');
  for (const text of ['', '<html>maintenance</html>', '{}', '<R><a/>', '<Rx></Rx>'])
    assert.throws(() => demandDocument(text, 'R'), { code: 'storage_failed', message: /address/ }, text);
});
