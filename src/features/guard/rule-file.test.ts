import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { loadRules } from './rule-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'workcrate-rule-file-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, 'rules.yaml');

function load(text: string) {
  writeFileSync(file, text);
  return loadRules(file);
}

const rule = `rules:
  - id: mine
    when: before
    match: { code: 'x' }
    action: block
    reason: Why.
    remedy: What.
`;

it('a file in YAML or JSON, with shipped sets and what is left out of them', () => {
  const { rules, judge } = load(
    `use: [destruction, { set: secrets-in-output, action: block }]\nwithout: [fork-bomb]\n${rule}`,
  );
  const ids = new Set(rules.map(({ id }) => id));
  assert.ok(ids.has('overwrite-disk') && ids.has('mine') && !ids.has('fork-bomb'));
  assert.equal(rules.find(({ id }) => id === 'aws-key')!.action, 'block');
  assert.equal(judge, null);
  const json = load('{"rules": [], "judge": {"url": "http://127.0.0.1:9/judge"}}');
  assert.partialDeepStrictEqual(json.judge, { timeout_ms: 5000, when: ['before', 'after'] });
});

const faults: Record<string, [string, RegExp]> = {
  'no YAML': ['rules: [\n  a: b: c\n', /line \d/],
  'no object': ['- a\n', /line 1: .*expected object/],
  'an unknown key': [`${rule}    actoin: x\n`, /line 2: rules\.0 .*actoin/],
  'an unknown action': [rule.replace('block', 'explode'), /line 5: rules\.0\.action .*"block"/],
  'a pattern that is none': [
    rule.replace("'x'", "'('"),
    /line 4: rules\.0\.match\.code is no regular expression/,
  ],
  'a match of nothing': [
    rule.replace("{ code: 'x' }", '{}'),
    /line 4: .*needs exactly one of any, all, code/,
  ],
  'a match of two': [rule.replace("{ code: 'x' }", "{ code: 'x', host: [a] }"), /needs exactly one of/],
  'output before': [rule.replace('code:', 'output:'), /output is known only with when: after/],
  'code after': [rule.replace('before', 'after'), /only output and its size can be judged/],
  'redact without a pattern': [rule.replace('block', 'redact'), /redact needs a pattern for output/],
  'an id twice': [
    rule + rule.slice('rules:\n'.length),
    /line 8: rules\.1\.id mine is the id of another rule/,
  ],
  'an id of a shipped rule': [
    `use: [destruction]\n${rule.replace('mine', 'fork-bomb')}`,
    /fork-bomb is the id of a shipped rule/,
  ],
  'a set that is none': ['use: [everything]\n', /line 1: use\.0/],
  'an id left out that is none': ['use: [destruction]\nwithout: [nothing]\n', /without names nothing/],
  'a set that cannot redact': [
    'use: [{ set: destruction, action: redact }]\n',
    /cannot have the action redact/,
  ],
  'a judge without a URL': ['judge: { timeout_ms: 100 }\n', /line 1: judge\.url/],
  'a judge of another protocol': ['judge: { url: "file:///etc/passwd" }\n', /judge\.url/],
  'size without over': [rule.replace("{ code: 'x' }", '{ size: code }'), /size needs over/],
};

for (const [what, [text, message]] of Object.entries(faults))
  it(`${what} is told with its place`, () => {
    assert.throws(() => load(text), { code: 'config_invalid', message });
  });

it('an alias that would grow without bound, a folder, a missing file and a huge one are refused', () => {
  const bomb = `a: &a [x, x, x, x, x, x, x, x, x, x]\n${'bcdefghij'
    .split('')
    .map((name, at) => `${name}: &${name} [${`*${'abcdefghi'[at]}, `.repeat(10)}]`)
    .join('\n')}\n`;
  assert.throws(() => load(bomb), { code: 'config_invalid' });
  assert.throws(() => loadRules(join(folder, 'none.yaml')), { message: /there is no such file/ });
  mkdirSync(join(folder, 'folder'));
  assert.throws(() => loadRules(join(folder, 'folder')), { message: /it is not a file/ });
  assert.throws(() => load('#'.repeat(5 * 1024 ** 2)), { message: /it has more than/ });
});
