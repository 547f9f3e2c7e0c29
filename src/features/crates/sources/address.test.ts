import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { isWorkcrateError } from '../../../platform/errors.ts';
import { parseSourceAddress, readLastingName } from './address.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

it('folders, buckets and containers are named by URL, a folder by its path too', () => {
  assert.deepEqual(parseSourceAddress('file:///data/my%20crates/'), {
    kind: 'folder',
    directory: '/data/my crates',
  });
  assert.deepEqual(parseSourceAddress('/data/100%'), { kind: 'folder', directory: '/data/100%' });
  assert.deepEqual(parseSourceAddress('s3://bucket'), { kind: 's3', bucket: 'bucket', prefix: '' });
  assert.deepEqual(parseSourceAddress('s3://b.c-d/a b/100%/'), {
    kind: 's3',
    bucket: 'b.c-d',
    prefix: 'a b/100%/',
  });
  assert.deepEqual(parseSourceAddress('azure://box/x'), { kind: 'azure', container: 'box', prefix: 'x/' });
  recordProof('B1:sources-by-url');
});

it('an address that is malformed is refused with an example, and without what may be a secret', () => {
  const wrong = [
    '',
    'crates',
    './crates',
    'file://elsewhere/crates',
    'file:crates',
    'https://example.org/crates',
    's3://',
    's3:///prefix',
    's3://b/../c',
    's3://bucket/a//b',
    's3://key:SECRET@bucket/x',
    'azure://Box/x',
    'azure://box/x?sv=1&sig=SECRET',
    '/a\0b',
  ];
  for (const text of wrong)
    assert.throws(
      () => parseSourceAddress(text),
      (error) =>
        isWorkcrateError(error, 'config_invalid') &&
        error.message.includes('s3://bucket/prefix') &&
        !error.message.includes('SECRET'),
      text,
    );
});

it('the name that a folder had first lasts, also where a loss of power left nothing of it', (t) => {
  const parent = mkdtempSync(join(tmpdir(), 'workcrate-name-'));
  t.after(() => rmSync(parent, { recursive: true }));
  const folder = join(parent, 'crates');
  for (const left of [null, '', '\n', '\0'.repeat(40)]) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    if (left !== null) writeFileSync(join(folder, '.workcrate-source'), left);
    const first = readLastingName(folder);
    assert.match(first!, /^file:\/\/\/.*\/crates\/$/);
    assert.equal(readFileSync(join(folder, '.workcrate-source'), 'utf8'), `${first}\n`);
    assert.deepEqual(readdirSync(folder), ['.workcrate-source']);
    const moved = join(parent, 'moved');
    renameSync(folder, moved);
    assert.equal(readLastingName(moved), first);
    rmSync(moved, { recursive: true });
  }
  mkdirSync(folder);
  writeFileSync(join(folder, '.workcrate-source'), 'something of somebody else');
  assert.equal(readLastingName(folder), null);
  assert.equal(readLastingName(join(parent, 'missing')), null);
});
