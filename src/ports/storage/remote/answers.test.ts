import assert from 'node:assert/strict';
import { it } from 'node:test';
import { checkDocument } from './remote.ts';

it('takes a page of something else for a failure of the store', () => {
  assert.equal(checkDocument('<R></R>', 'R'), '<R></R>');
  for (const text of ['', '<html>maintenance</html>', '{}', '<R><a/>', '<Rx></Rx>'])
    assert.throws(() => checkDocument(text, 'R'), { code: 'storage_failed', message: /address/ }, text);
});
