import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../../platform/errors.ts';
import { createZipLayout } from '../../platform/zip/zip.ts';
import { entityIdToPath, pathToEntityId } from '../crates/metadata/metadata.ts';
import { createPackedObjectName, parsePackedObjectOwner } from '../crates/sources/sources.ts';
import { toOrcidUrl } from './entities.ts';
import { createMemberNaming } from './packed.ts';

const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }).filter((text) => !/[/\0]/.test(text));

it('an id leads back to its path, whatever that is', () => {
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), (names) => {
      const path = createMemberNaming()('results', names.join('/'));
      assert.equal(entityIdToPath(pathToEntityId(path)), path);
      assert.match(pathToEntityId(path), /^(?:[^\p{C}\p{Z}"<>\\^`{|}%#?[\]]|%[0-9A-F]{2})+$/u);
    }),
  );
});

it('any names make an archive, each with a path of its own', () => {
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 20 }), (names) => {
      const naming = createMemberNaming();
      const paths = [...names, ...names].map((text) => naming('files', text));
      assert.equal(new Set(paths).size, paths.length);
      assert.ok(
        createZipLayout(paths.map((path) => ({ name: path, size: 0, crc32: 0, modified: 0 }))).size > 0,
      );
    }),
  );
});

it('20,000 equal names take no quadratic time', { timeout: 60_000 }, () => {
  const naming = createMemberNaming();
  const paths = Array.from({ length: 20_000 }, () => naming('files', 'a.txt'));
  assert.equal(paths.at(-1), 'files/a (20000).txt');
});

const foreign = [
  'http://example.org/a',
  'file:///etc/passwd',
  '#local',
  '_:blank',
  '/etc/passwd',
  '../up',
  'a/%2e%2e/b',
  'a//b',
  'a%00b',
  'a%5Cb',
  '',
];
for (const id of foreign)
  it(`${JSON.stringify(id)} is no file of a crate`, () => assert.equal(entityIdToPath(id), null));

it('ids as crates have them are read: dots in front, plain spaces, a percent sign that is one', () => {
  assert.equal(entityIdToPath('./data/a b.txt'), 'data/a b.txt');
  assert.equal(entityIdToPath('data/100%.txt'), 'data/100%.txt');
  assert.equal(entityIdToPath('面试.mp4'), '面试.mp4');
});

it('the owner of a packed crate is told by its object, and no two have the same folder', () => {
  const user = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 10 });
  fc.assert(
    fc.property(user, user, (one, other) => {
      const [first, second] = [
        createPackedObjectName(one, 'T', 'id', 1),
        createPackedObjectName(other, 'T', 'id', 1),
      ];
      assert.equal(parsePackedObjectOwner(first), one);
      assert.equal(first.toLowerCase() === second.toLowerCase(), one === other);
      assert.match(first, /^users\/[a-z0-9_=-]+\/t-id\.zip$/);
    }),
  );
  assert.equal(parsePackedObjectOwner(createPackedObjectName(null, 'T', 'id', 1)), null);
  assert.throws(
    () => createPackedObjectName('ü'.repeat(200), 'T', 'id', 1),
    (error) => isWorkcrateError(error, 'invalid_input'),
  );
});

it('an object is named after the title, in plain letters', () => {
  assert.equal(
    createPackedObjectName('ada', '  Größe & Fläche: 2026/11!  ', 'x', 1),
    'users/ada/gro-e-flache-2026-11-x.zip',
  );
  assert.equal(createPackedObjectName('ada', '../../etc', 'x', 2), 'users/ada/etc-x-2.zip');
  assert.equal(createPackedObjectName('ada', '日本', 'x', 1), 'users/ada/crate-x.zip');
});

it('an ORCID iD is proven by its last digit', () => {
  assert.equal(toOrcidUrl('0000-0002-1694-233x'), 'https://orcid.org/0000-0002-1694-233X');
  assert.equal(toOrcidUrl('http://orcid.org/0000-0002-1825-0097'), 'https://orcid.org/0000-0002-1825-0097');
  for (const wrong of ['0000-0002-1825-0098', '0000000218250097', 'https://evil.org/0000-0002-1825-0097', ''])
    assert.throws(
      () => toOrcidUrl(wrong),
      (error) => isWorkcrateError(error, 'invalid_input'),
    );
});
