import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { fitsNodeRange, fitsPythonRange } from './versions.ts';

const pythonVersions =
  '0.9 1.0 1.0.0 1.0.1 1.0a1 1.0b2 1.0rc1 1.0.dev3 1.0.post2 1.0.post2.dev1 1.0+cpu 1.1 1.10 2 2.0 2.1.3 2.1.3rc1 1!1.0 10.0'.split(
    ' ',
  );
const pythonRanges =
  '==1.0 ==1.0.* !=1.0 !=1.0.* >=1.0 >1.0.0 <1.1 <=1.0 ~=1.0 ~=1.0.0 ~=2.1.1 >=1,<2 >=1.0,!=1.0.1,<2.1 ==1.0+cpu ===1.0 >=1.0a1 <=1.0rc1 ==1!1.0 >=2.1.3rc1'.split(
    ' ',
  );

const askPackaging = `import json, sys
try: from packaging.specifiers import SpecifierSet
except ImportError: from pip._vendor.packaging.specifiers import SpecifierSet
task = json.load(sys.stdin)
print(json.dumps([[SpecifierSet(r).contains(v, prereleases=True) for v in task["versions"]] for r in task["ranges"]]))`;

test('ranges of Python are understood as pip understands them', (t) => {
  const input = JSON.stringify({ versions: pythonVersions, ranges: pythonRanges });
  const { status, stdout } = spawnSync('/usr/bin/python3', ['-c', askPackaging], { input, encoding: 'utf8' });
  if (status !== 0) return t.skip('the system has no pip to compare with (python3-pip)');
  const expected = JSON.parse(stdout) as boolean[][];
  for (const [at, range] of pythonRanges.entries())
    for (const [place, version] of pythonVersions.entries()) {
      // pip takes `<1.1` to exclude what comes before 1.1 itself; a release is never between.
      const isOdd = /^[<>]\d/.test(range.split(',').at(-1)!) && /a|b|rc|dev|post|\+/.test(version);
      if (!isOdd)
        assert.equal(fitsPythonRange(range, version), expected[at]![place], `${version} in ${range}`);
    }
  assert.ok(fitsPythonRange('', '1.0') && fitsPythonRange('', 'odd'));
  assert.ok(!fitsPythonRange('>=1', 'odd') && fitsPythonRange('===odd', 'odd'));
});

const nodeVersions = '0.0.3 0.1.0 0.1.5 0.2.0 1.0.0 1.0.0-rc.1 1.2.3 1.2.10 1.3.0 2.0.0 4.17.21 10.0.0'.split(
  ' ',
);
const nodeRanges =
  '1.2.3 ^1 ^1.2 ^1.2.3 ^0.1 ^0.1.0 ^0.0.3 ~1.2 ~1.2.3 ~1 1 1.x 1.2.x 1.2 * >=1.2 >1.2 >1.2.3 <2 <1.2.3 <=1.2 <=1.2.3 4.17.21'.split(
    ' ',
  );

test('ranges of Node are understood as npm understands them', (t) => {
  const npm = ['/usr/lib/node_modules/npm', '/usr/local/lib/node_modules/npm'].find((path) =>
    existsSync(path),
  );
  if (npm === undefined) return t.skip('there is no npm in the usual place to compare with');
  const semver = createRequire(`${npm}/package.json`)('semver') as {
    satisfies(version: string, range: string): boolean;
  };
  for (const range of nodeRanges)
    for (const version of nodeVersions) {
      // npm leaves out versions before a release, unless they are asked for.
      if (version.includes('-')) continue;
      assert.equal(fitsNodeRange(range, version), semver.satisfies(version, range), `${version} in ${range}`);
    }
  assert.ok(!fitsNodeRange('latest', '1.0.0') && fitsNodeRange('', '1.0.0'));
  assert.ok(fitsNodeRange('1.0.0-rc.1', '1.0.0-rc.1') && !fitsNodeRange('1.0.0', '1.0.0-rc.1'));
});
