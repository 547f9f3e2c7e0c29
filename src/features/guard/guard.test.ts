import assert from 'node:assert/strict';
import { it } from 'node:test';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { toVerdictError } from './guard.ts';
import { makeRule, openTestGuard } from './guard.testing.ts';

const tool = { name: 'execute_code', isSensitive: true };
const who = { user: 'ada', client: 'test' };
const before = { tool, when: 'before' as const, ...who };
const after = { tool, when: 'after' as const, ...who };
const python = (text: string) => ({ code: { language: 'python', text } });

it('a rule that never ends fails its call alone, and the next one is judged', async () => {
  const endless = makeRule({ id: 'endless', when: 'before', match: { code: '^(?:a|a|aa)+$' } });
  await using opened = openTestGuard([endless], { timeMs: 300 });
  const { guard, noted } = opened;
  const [hung, ...others] = await Promise.all([
    guard.judge({ ...before, ...python(`${'a'.repeat(5000)}!`) }),
    ...['ben', 'cleo', 'ada'].map((user) => guard.judge({ ...before, user, ...python('b') })),
  ]);
  assert.equal(hung.action, 'fail');
  assert.equal(toVerdictError(hung)!.code, 'guard_failed');
  assert.match(
    toVerdictError(hung)!.message,
    /because its rules did not come to an end within 300 ms\. Nothing was run/,
  );
  assert.deepEqual(
    others.map(({ action }) => action),
    ['allow', 'allow', 'allow'],
  );
  assert.equal((await guard.judge({ ...before, ...python('aa') })).action, 'block');
  assert.deepEqual(noted.map(({ level, result }) => `${level} ${result}`).toSorted(), [
    'trace allow',
    'trace allow',
    'trace allow',
    'warning block',
    'warning fail',
  ]);
  recordProof('F4:a-rule-that-never-ends-fails-the-call');
});

it('a megabyte of code is judged, and more than it takes is a failure', async () => {
  await using opened = openTestGuard([makeRule({ id: 'end', when: 'before', match: { code: 'needle$' } })], {
    timeMs: 30_000,
  });
  const { guard } = opened;
  assert.equal(
    (await guard.judge({ ...before, ...python(`${'x = 1\n'.repeat(170_000)}needle`) })).action,
    'block',
  );
  const huge = await guard.judge({ ...before, arguments: { text: 'x'.repeat(33 * 1024 ** 2) } });
  assert.equal(huge.action, 'fail');
  assert.match(huge.reason!, /to judge, and it takes at most/);
  let deep: unknown = 'x';
  for (let level = 0; level < 100; level++) deep = [deep];
  assert.equal((await guard.judge({ ...before, arguments: { deep } })).action, 'fail');
});

it('the heaviest action of all rules that fit decides, and a block shows nothing', async () => {
  const output = (id: string, word: string, action: 'record' | 'redact' | 'block') =>
    makeRule({ id, when: 'after', match: { output: word }, action });
  await using opened = openTestGuard([
    output('note', 'one', 'record'),
    output('blank', 'two', 'redact'),
    output('stop', 'three', 'block'),
  ]);
  const judge = (text: string) => opened.guard.judge({ ...after, outputs: [text, 'one'] });
  assert.partialDeepStrictEqual(await judge('zero'), {
    action: 'record',
    reason: null,
    outputs: ['zero', 'one'],
  });
  const redacted = await judge('two one two');
  assert.deepEqual(redacted.outputs, ['[redacted: blank] one [redacted: blank]', 'one']);
  assert.deepEqual(redacted.rules, [
    { id: 'note', count: 2 },
    { id: 'blank', count: 2 },
  ]);
  assert.partialDeepStrictEqual(await judge('two three'), { action: 'block', outputs: [] });
});

it('a rule without tools is about sensitive ones, and one with tools about those', async () => {
  const match = { argument: 'x' };
  await using opened = openTestGuard([
    makeRule({ id: 'sensitive', when: 'before', match }),
    makeRule({ id: 'named', when: 'before', tools: ['github_*'], match }),
  ]);
  const { guard } = opened;
  const find = async (name: string, isSensitive: boolean): Promise<string[]> =>
    (await guard.judge({ ...before, tool: { name, isSensitive }, arguments: { a: 'x' } })).rules.map(
      ({ id }) => id,
    );
  assert.deepEqual(await find('share_file', true), ['sensitive']);
  assert.deepEqual(await find('github_star', false), ['named']);
  assert.deepEqual(await find('list_files', false), []);
  assert.equal(guard.judges({ name: 'list_files', isSensitive: false }, 'before'), false);
  assert.equal(guard.judges({ name: 'share_file', isSensitive: true }, 'after'), false);
});

it('paths, hosts, sizes and combinations are found in code and in arguments', async () => {
  const rules = [
    makeRule({ id: 'path', when: 'before', match: { path: ['/etc/**'], except: ['/etc/hosts'] } }),
    makeRule({
      id: 'host',
      when: 'before',
      match: { host: ['*'], except: ['*.example.org', 'example.org'] },
    }),
    makeRule({ id: 'size', when: 'before', match: { size: 'code', over: 1000 } }),
    makeRule({
      id: 'both',
      when: 'before',
      match: { all: [{ code: 'open' }, { argument: 'go', name: 'mode' }] },
    }),
    makeRule({ id: 'bash', when: 'before', match: { code: 'echo', languages: ['bash'] } }),
  ];
  await using opened = openTestGuard(rules);
  const find = async (call: object): Promise<string> =>
    (await opened.guard.judge({ ...before, ...call })).rules.map(({ id }) => id).join(' ');
  assert.equal(await find(python("open('/etc/passwd')")), 'path');
  assert.equal(await find(python("open('/tmp/../etc//passwd')")), 'path');
  assert.equal(await find(python("open('/etc/hosts')")), '');
  assert.equal(await find(python("get('https://data.example.org/a')")), '');
  assert.equal(await find(python("get('https://user:pw@evil.test:8080/a')")), 'host');
  assert.equal(await find({ arguments: { options: { url: 'http://[::1]/' } } }), 'host');
  assert.equal(await find({ arguments: { network: ['evil.test'] } }), 'host');
  assert.equal(await find(python('x'.repeat(1001))), 'size');
  assert.equal(await find({ ...python('open'), arguments: { mode: 'go' } }), 'both');
  assert.equal(await find({ ...python('open'), arguments: { other: 'go' } }), '');
  assert.equal(await find(python('echo')), '');
  assert.equal(await find({ code: { language: 'bash', text: 'echo' } }), 'bash');
  assert.equal(await find({ code: { language: null, text: 'echo' } }), 'bash');
});

it('a secret that is spelled with invisible characters or other forms is blanked with its text', async () => {
  const rule = makeRule({ id: 'key', when: 'after', match: { output: 'KEY\\d{4}' }, action: 'redact' });
  await using opened = openTestGuard([rule]);
  const { outputs } = await opened.guard.judge({
    ...after,
    outputs: ['a KEY1234 b', 'a K\u{200b}EY1234 b', 'ＫＥＹ１２３４', 'é fine', 'KEY12'],
  });
  const mark = '[redacted: key]';
  assert.deepEqual(outputs, [`a ${mark} b`, mark, mark, 'é fine', 'KEY12']);
});

it('a call that was cancelled while it waited is not judged', async () => {
  await using opened = openTestGuard([makeRule({ id: 'a', when: 'before', match: { code: 'a' } })]);
  const signal = AbortSignal.abort(new Error('gone'));
  await assert.rejects(opened.guard.judge({ ...before, ...python('b'), signal }), /gone/);
});
