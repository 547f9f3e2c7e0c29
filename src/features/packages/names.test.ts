import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createAllowedPackages } from './allowed.ts';
import { parseSpec, parseSpecs } from './names.ts';

const noUrl = (): boolean => false;
const anyUrl = (): boolean => true;

test('names and versions are understood', () => {
  const python = (text: string) => {
    const { name, extras, range } = parseSpec('python', text, noUrl);
    return [name, extras, range];
  };
  assert.deepEqual(python('pandas'), ['pandas', '', '']);
  assert.deepEqual(python('Scikit_Learn==1.4.*'), ['scikit-learn', '', '==1.4.*']);
  assert.deepEqual(python('pkg[a,b-c]>=2,<3'), ['pkg', '[a,b-c]', '>=2,<3']);
  assert.deepEqual(python('x~=1.0rc1'), ['x', '', '~=1.0rc1']);
  const node = (text: string) => {
    const { name, range } = parseSpec('node', text, noUrl);
    return [name, range];
  };
  assert.deepEqual(node('lodash'), ['lodash', '']);
  assert.deepEqual(node('JSONStream@1.3.5'), ['JSONStream', '1.3.5']);
  assert.deepEqual(node('@scope/name@^1'), ['@scope/name', '^1']);
  for (const range of ['~1.2', '1.x', '>=2.0.0', 'latest', '*', '1.0.0-rc.1'])
    assert.deepEqual(node(`a@${range}`), ['a', range]);
});

const hostile = [
  '',
  ' ',
  'a b',
  'pandas ',
  ' pandas',
  'pandas; rm -rf /',
  'pandas;python_version<"3"',
  '--index-url x',
  '--index-url=http://x',
  '-r requirements.txt',
  '-rfile',
  '-e.',
  '.',
  '..',
  './local',
  '../up',
  '/etc/passwd',
  'a/b',
  'a\\b',
  'file:///etc/passwd',
  'file:x',
  'git+https://example.org/x',
  'git@example.org:x/y',
  'user/repo',
  'https://example.org/x.whl',
  'http://127.0.0.1/x',
  'x@https://example.org/x.whl',
  'x @ https://example.org/x.whl',
  'x@file:../y',
  'x@npm:y@1',
  'x@git+ssh://host/y',
  'x@link:..',
  'x@workspace:*',
  '@scope',
  '@/x',
  '@../x',
  'pandas==',
  'pandas==1.0 --pre',
  'pandas>=1 ,<2',
  '$(id)',
  '`id`',
  'a\nb',
  'a\0b',
  'пандас',
  'pandаs',
  'ﬁle',
  'a%2fb',
  '_private',
  '.hidden',
  'node_modules/../x',
  'x'.repeat(400),
  '*',
  'a*',
];

test('nothing is read as an option, a path, a URL or a shell', () => {
  for (const language of ['python', 'node'] as const)
    for (const text of hostile)
      assert.throws(
        () => parseSpec(language, text, noUrl),
        { code: 'invalid_input' },
        `${language}: ${text}`,
      );
});

test('whatever is taken has only harmless characters, begins as a name does, and names no path', () => {
  const piece = fc.oneof(
    fc.string({ maxLength: 3 }),
    fc.constantFrom(...hostile, 'a', '==1', '>=2', '@', '/', '[x]', ',', '-', ' ', '.', '..', '1.0'),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), fc.constantFrom('python', 'node'), (pieces, language) => {
      try {
        const { text } = parseSpec(language as 'python' | 'node', pieces.join(''), noUrl);
        assert.match(text, /^@?[A-Za-z0-9][A-Za-z0-9._/@[\],=<>~!*^+-]*$/);
        assert.ok(!/(?:^|\/)\.\.?(?:\/|$)|\/\/|:/.test(text), text);
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'invalid_input');
      }
    }),
    { numRuns: 3000 },
  );
});

test('a URL is taken where it may be used, behind a name', () => {
  assert.equal(parseSpec('python', 'x@https://example.org/x-1.whl', anyUrl).url?.host, 'example.org');
  assert.equal(parseSpec('node', '@s/x@https://example.org/x.tgz', anyUrl).name, '@s/x');
  for (const text of ['https://example.org/x.whl', 'x@ftp://example.org/x', 'x@https:// y', 'x@https://'])
    assert.throws(() => parseSpec('python', text, anyUrl), { code: 'invalid_input' });
  assert.throws(() => parseSpec('python', 'x@https://example.org/x', (url) => url.host === 'example.com'), {
    code: 'invalid_input',
  });
});

test('a package is named once', () => {
  assert.equal(parseSpecs('python', ['a', 'b', 'a'], noUrl).length, 2);
  assert.throws(() => parseSpecs('python', ['a_b', 'A-B==1'], noUrl), {
    code: 'invalid_input',
    message: '"a_b" and "A-B==1" are the same package. Name it once.',
  });
});

test('the list of the operator decides which names and versions may be asked for', () => {
  const list = ['pandas', 'python:numpy==1.26.*', 'node:@mine/*', 'lodash@4.17.21', 'types-*'];
  const allowed = createAllowedPackages(list);
  const ask = (language: 'python' | 'node', text: string): string =>
    allowed.judge(language, parseSpec(language, text, anyUrl)).text;
  assert.equal(ask('python', 'pandas>=2'), 'pandas>=2');
  assert.equal(ask('node', 'pandas'), 'pandas');
  assert.equal(ask('python', 'NumPy'), 'numpy==1.26.*');
  assert.equal(ask('python', 'numpy[x]>=1.26.2'), 'numpy[x]==1.26.*,>=1.26.2');
  assert.equal(ask('node', '@mine/tool@2'), '@mine/tool@2');
  assert.equal(ask('node', 'lodash'), 'lodash@4.17.21');
  assert.equal(ask('node', 'lodash@^4'), 'lodash@4.17.21');
  assert.equal(ask('python', 'types_requests'), 'types_requests');
  for (const [language, text] of [
    ['node', 'numpy'],
    ['python', 'lodash'],
    ['node', 'lodash@3'],
    ['node', '@other/tool'],
    ['node', '@types-x/y'],
    ['node', 'mine'],
    ['python', 'numpy@https://example.org/numpy.whl'],
    ['python', 'requests'],
  ] as const)
    assert.throws(() => ask(language, text), { code: 'package_refused' }, text);
  assert.deepEqual(allowed.listPins('python'), [['numpy', '==1.26.*']]);
  assert.deepEqual(allowed.listPins('node'), [['lodash', '4.17.21']]);
  assert.throws(() => ask('python', 'requests'), {
    message:
      '"requests" may not be installed here. The operator allows: pandas, python:numpy==1.26.*, types-*. Ask for one of these, or ask the operator (--packages-allow).',
  });
  assert.throws(() => createAllowedPackages(['a b']), { code: 'config_invalid' });
  assert.equal(createAllowedPackages([]).judge('python', parseSpec('python', 'x', noUrl)).text, 'x');
});
