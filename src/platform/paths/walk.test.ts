import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openBelow, joinComponents, parseName, parsePath, type PathRefusalKind } from './paths.ts';
import { allFootings, playground, refusedAs, textOf } from './playground.testing.ts';

const followed: Record<string, string> = {
  'a link to a file beside it': 'file',
  'a link through a folder and back': './folder/../folder//file',
  'a link to a link': 'second',
};

const refused: Record<string, [target: string, kind: PathRefusalKind]> = {
  'a link that climbs out': ['../outside/secret', 'link'],
  'a link that climbs out and comes back in': ['../root/file', 'link'],
  'a link that climbs out by way of a folder': ['folder/../../outside/secret', 'link'],
  'a link to a link that climbs out': ['out/secret', 'link'],
  'an absolute link, even to a place inside': ['ABSOLUTE/file', 'link'],
  'a link to /': ['/', 'link'],
  'a link to itself': ['link', 'link_loop'],
  'a link into itself': ['link/x', 'link_loop'],
  'a link that grows': ['folder/../link/file', 'link_loop'],
};

for (const footing of allFootings) {
  for (const [what, target] of Object.entries(followed)) {
    test(`${what} is followed where links may stay within, otherwise refused (${footing})`, () => {
      using play = playground();
      symlinkSync('file', join(play.root, 'second'));
      symlinkSync(target, join(play.root, 'link'));
      const link = parsePath('link');
      assert.equal(
        textOf(openBelow(play.root, { walkMethod: footing, links: 'within' }).open(link)),
        'inside',
      );
      assert.throws(() => openBelow(play.root, { walkMethod: footing }).open(link), refusedAs('link'));
      assert.throws(() => openBelow(play.root, { walkMethod: footing }).stat(link), refusedAs('link'));
    });
  }

  for (const [what, [target, kind]] of Object.entries(refused)) {
    test(`${what} is refused as ${kind} (${footing})`, () => {
      using play = playground();
      symlinkSync('../outside', join(play.root, 'out'));
      symlinkSync(target.replace('ABSOLUTE', play.root), join(play.root, 'link'));
      const root = openBelow(play.root, { walkMethod: footing, links: 'within' });
      for (const path of [parsePath('link'), parsePath('link/secret')]) {
        assert.throws(() => root.open(path), refusedAs(kind));
        assert.throws(() => root.list(path), refusedAs(kind));
        assert.throws(() => root.makeFolder(path), refusedAs(kind));
      }
      assert.throws(() => root.create(parsePath('link/new')), refusedAs(kind));
      assert.throws(() => root.rename(parsePath('file'), parsePath('link/new')), refusedAs(kind));
      assert.throws(() => root.remove(parsePath('link/secret')), refusedAs(kind));
    });
  }

  test(`40 links in a row are followed and 41 are not (${footing})`, () => {
    using play = playground();
    symlinkSync('file', join(play.root, '1'));
    for (let n = 2; n <= 41; n++) symlinkSync(`${n - 1}`, join(play.root, `${n}`));
    const root = openBelow(play.root, { walkMethod: footing, links: 'within' });
    assert.equal(textOf(root.open(parsePath('40'))), 'inside');
    assert.throws(() => root.open(parsePath('41')), refusedAs('link_loop'));
  });

  test(`a link whose target is not UTF-8 is refused rather than misread (${footing})`, () => {
    using play = playground();
    symlinkSync(Buffer.from([0x66, 0xff]), join(play.root, 'link'));
    writeFileSync(join(play.root, 'f\ufffd'), 'another file');
    const root = openBelow(play.root, { walkMethod: footing, links: 'within' });
    assert.throws(() => root.open(parsePath('link')), refusedAs('link'));
  });

  test(`256 folders deep can be reached and no deeper (${footing})`, () => {
    using play = playground();
    const root = openBelow(play.root, { walkMethod: footing });
    const deep = parsePath('d/'.repeat(256));
    root.makeFolder(deep);
    assert.equal(root.stat(deep).type, 'folder');
    assert.throws(() => root.create(joinComponents(deep, parseName('x'), parseName('y'))), {
      code: 'path_not_found',
    });
    assert.throws(() => root.makeFolder(joinComponents(deep, parseName('x'))), refusedAs('too_deep'));
  });

  test(`a root that is itself reached by a link works: it is trusted (${footing})`, () => {
    using play = playground();
    mkdirSync(join(play.outside, 'other'));
    symlinkSync(play.root, join(play.outside, 'other', 'root'));
    assert.equal(
      textOf(openBelow(join(play.outside, 'other', 'root'), { walkMethod: footing }).open(parsePath('file'))),
      'inside',
    );
  });
}
