import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWorkcrateError, type ErrorCode } from '../../../platform/errors.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
import { createPathPolicy } from '../policy/policy.ts';
import { createCache } from './cache.ts';
import { cacheFiles, type GuideFile } from './tools.ts';

const ada = { user: 'ada' };
const policy = createPathPolicy({ root: '/home/ada/project', read: null, list: null });

function store(
  files: readonly GuideFile[],
  mostBytes = 100_000,
  cache = createCache({ mostBytes, mostEntries: 100, clock: () => 1 }),
) {
  return {
    cache,
    kept: (path: string) => cache.get('ada', policy.root, path),
    done: () => cacheFiles(policy, cache, ada, files),
  };
}

const failsWith = (code: ErrorCode) => (error: unknown) => isWorkcrateError(error, code);

test('a file that is given is found under its judged path, with what was told of it', () => {
  const { done, kept } = store([{ path: './docs/a.md', content: 'é', mtime: 7 }]);
  const { stored, statistics } = done();
  assert.deepEqual([statistics.entries, stored.length], [1, 1]);
  const { bytes, ...facts } = kept('docs/a.md')!;
  assert.equal(Buffer.from(bytes).toString(), 'é');
  assert.deepEqual(facts, {
    path: 'docs/a.md',
    size: 2,
    mtime: 7,
    encoding: 'utf-8',
    sha256: '4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c',
    rung: 'given',
    receivedAt: 1,
  });
});

test('text is kept in the encoding that is named, and binary exactly', () => {
  const all = Uint8Array.from({ length: 256 }, (_, at) => at);
  const { done, kept } = store([
    { path: 'docs/a', content: 'é', encoding: 'latin1' },
    { path: 'docs/b', content: all.toBase64(), binary: true },
    { path: 'docs/c', content: 'YQBiAA==', binary: true, encoding: 'utf-16le' },
  ]);
  done();
  assert.deepEqual([...kept('docs/a')!.bytes], [0xe9]);
  assert.deepEqual(kept('docs/b')!.bytes, all);
  assert.deepEqual([kept('docs/b')!.encoding, kept('docs/c')!.encoding], [null, 'utf-16le']);
});

const good = { path: 'docs/a', content: 'x' };
const bad: Record<string, [GuideFile, ErrorCode]> = {
  'a path outside': [{ path: 'docs/../../secret', content: 'x' }, 'path_refused'],
  'a path that is not allowed': [{ path: 'docs-secret/x', content: 'x' }, 'path_not_allowed'],
  'the same path again': [{ path: './docs/a', content: 'y' }, 'invalid_input'],
  'broken base64': [{ path: 'docs/c', content: 'a', binary: true }, 'invalid_input'],
  'an unknown encoding': [{ path: 'docs/c', content: 'a', encoding: 'utf-9' }, 'invalid_input'],
  'a character that does not fit': [{ path: 'docs/c', content: '€', encoding: 'latin-1' }, 'invalid_input'],
  'a file without room': [{ path: 'docs/c', content: 'x'.repeat(100_000) }, 'too_large'],
};

for (const [what, [third, code]] of Object.entries(bad))
  test(`a batch whose third is ${what} leaves everything as it was`, () => {
    const first = store([{ ...good, content: 'before' }]);
    first.done();
    const before = first.cache.statistics();
    const { done, kept } = store([good, { ...good, path: 'docs/b' }, third], 0, first.cache);
    assert.throws(done, failsWith(code));
    assert.deepEqual(first.cache.statistics(), before);
    assert.equal(kept('docs/a')!.size, 6);
    assert.equal(kept('docs/b'), null);
    recordProof('E9:whole-batch-or-nothing');
  });
