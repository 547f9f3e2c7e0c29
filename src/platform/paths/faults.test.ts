import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWorkcrateError, type ErrorCode } from '../errors.ts';
import { toPathError } from './faults.ts';
import { refusedAs } from './playground.testing.ts';

const codes: Record<string, ErrorCode> = {
  ENOENT: 'path_not_found',
  EMFILE: 'out_of_descriptors',
  ENFILE: 'out_of_descriptors',
  ENOSPC: 'storage_full',
  EDQUOT: 'storage_full',
  EROFS: 'storage_read_only',
  EIO: 'storage_failed',
};

for (const [errno, code] of Object.entries(codes)) {
  test(`the system's ${errno} becomes ${code}, and its cause is kept`, () => {
    const cause = Object.assign(new Error(errno), { code: errno });
    const error = toPathError(cause, 'a/b');
    assert.ok(isWorkcrateError(error, code));
    assert.equal(error.cause, cause);
  });
}

test('a path that the server may not read is refused as denied', () => {
  const cause = Object.assign(new Error('EACCES'), { code: 'EACCES' });
  assert.ok(refusedAs('denied')(toPathError(cause, 'a')));
});

test('an error that did not come from the system is passed on as it is', () => {
  const bug = new TypeError('bug');
  assert.equal(toPathError(bug, 'a'), bug);
});
