import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../errors.ts';
import { readConfigFile } from './file.ts';
import { scratchFile } from './settings.testing.ts';

it('values are read as text, whatever YAML makes of them, each with its line', () => {
  using file = scratchFile();
  file.write('# a comment\nport: 0x10\ntracing: yes\n\nhost: "::1"\ntools: [files, execute]\npublic_url:\n');
  assert.deepEqual(Object.fromEntries(readConfigFile(file.path)), {
    port: { text: '16', line: 2 },
    tracing: { text: 'yes', line: 3 },
    host: { text: '::1', line: 5 },
    tools: { text: 'files,execute', line: 6 },
    public_url: { text: '', line: 7 },
  });
});

it('JSON is read too', () => {
  using file = scratchFile();
  file.write('{\n  "port": 1,\n  "tools": ["a", "b"]\n}\n');
  assert.deepEqual(Object.fromEntries(readConfigFile(file.path)), {
    port: { text: '1', line: 2 },
    tools: { text: 'a,b', line: 3 },
  });
});

it('an empty file sets nothing', () => {
  using file = scratchFile();
  for (const text of ['', '\n\n', '# only a comment\n', '---\n']) {
    file.write(text);
    assert.equal(readConfigFile(file.path).size, 0, JSON.stringify(text));
  }
});

const refused: [string, string, RegExp][] = [
  ['a key twice', 'a: 1\nb: 2\na: 3\n', /, line 3: Map keys must be unique$/],
  ['two documents', 'a: 1\n---\nb: 2\n', /, line 2: /],
  ['an alias', 'a: &x 1\nb: *x\n', /, line 2: b must be one value or a list of values$/],
  ['a list of lists', 'a: [[1]]\n', /, line 1: a must be one value or a list of values$/],
  ['a list at the top', '- a\n', /, line 1: the file must hold `key: value` lines$/],
  ['a tab for indentation', 'a:\n\tb: 1\n', /, line 2: /],
];

for (const [what, text, expected] of refused)
  it(`${what} is refused with the line`, () => {
    using file = scratchFile();
    file.write(text);
    assert.throws(() => readConfigFile(file.path), { code: 'config_invalid', message: expected });
  });

it('a folder in place of the file is refused by name', () => {
  assert.throws(() => readConfigFile('/'), {
    code: 'config_invalid',
    message: /cannot read the config file \/: EISDIR/,
  });
});

it('any text is either read or refused in one line that names the file and a line of it', () => {
  using file = scratchFile();
  const piece = fc.constantFrom(
    'a',
    'port',
    ':',
    ': ',
    '\n',
    ' ',
    '"',
    "'",
    '[',
    ']',
    '{',
    '}',
    '- ',
    '&',
    '*',
    '#',
    '|',
    '\t',
    '!!',
    '?',
    '\0',
    '%',
  );
  const texts = fc.oneof(
    fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join('')),
    fc.string({ unit: 'binary' }),
  );
  const property = fc.property(texts, (text) => {
    file.write(text);
    try {
      readConfigFile(file.path);
    } catch (error) {
      assert.ok(isWorkcrateError(error, 'config_invalid'), String(error));
      const [, line, what] = /, line (\d+): (.+)$/.exec(error.message) ?? [];
      assert.ok(Number(line) >= 1 && Number(line) <= text.split('\n').length + 1, error.message);
      assert.ok(what);
    }
  });
  fc.assert(property, { numRuns: 2000 });
});

it('keys below a key come with it before them, each with its own line; deeper ones are refused', () => {
  using file = scratchFile();
  file.write('filesystem:\n  allowed_paths: [docs, data]\n');
  assert.deepEqual(Object.fromEntries(readConfigFile(file.path)), {
    'filesystem.allowed_paths': { text: 'docs,data', line: 2 },
  });
  file.write('a:\n  b:\n    c: 1\n');
  assert.throws(() => readConfigFile(file.path), { message: /, line 2: a\.b must be one value or a list/ });
  file.write('a:\n  b: 1\na.b: 2\n');
  assert.throws(() => readConfigFile(file.path), { message: /, line 3: a\.b is set twice$/ });
});
