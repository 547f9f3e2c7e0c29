import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { isWorkcrateError } from '../errors.ts';
import { findPublicFolder } from './paths.ts';

test('a folder that all may read is a plain one: no link, no home folder, nothing hidden', (t) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'workcrate-public-')));
  t.after(() => rmSync(folder, { recursive: true }));
  const at = (name: string): string => join(folder, name);
  mkdirSync(at('plain'));
  mkdirSync(at('.ssh'));
  writeFileSync(at('file'), '');
  symlinkSync(at('.ssh'), at('link'));
  symlinkSync(at('nowhere'), at('broken'));
  assert.equal(findPublicFolder(at('plain'), '--x'), at('plain'));
  for (const none of [null, at('missing'), at('file')]) assert.equal(findPublicFolder(none, '--x'), null);
  const refused = {
    'it is a link': [at('link'), at('broken')],
    'it is hidden': [at('.ssh')],
    'home folder': [homedir(), dirname(homedir()), '/'],
  };
  for (const [why, paths] of Object.entries(refused))
    for (const path of paths)
      assert.throws(
        () => findPublicFolder(path, '--x'),
        (error) => isWorkcrateError(error, 'path_refused') && error.message.includes(why),
        path,
      );
});

test('a folder below the one that the program was started in does not lead out of it', (t) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'workcrate-public-')));
  const before = process.cwd();
  t.after(() => {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  });
  mkdirSync(join(folder, 'home', 'skills'), { recursive: true });
  mkdirSync(join(folder, 'project'));
  symlinkSync(join(folder, 'home'), join(folder, 'project', 'docs'));
  process.chdir(join(folder, 'project'));
  assert.throws(
    () => findPublicFolder('docs/skills', '--x'),
    /a folder above it is a link that leads elsewhere/,
  );
});
