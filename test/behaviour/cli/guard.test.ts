import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { collectText } from '../../../src/platform/streams.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { environment, fromSource, run, temporaryFolder } from './program.testing.ts';

const rules = `rules:
  - id: number
    when: before
    match: { code: '\\d{3}' }
    action: block
    reason: No numbers.
    remedy: Use words.
    examples: ['x = 123', 'x = 12']
    counterexamples: ['x = one', 'x = 4567']
  - id: slow
    when: after
    match: { output: '^(?:a|a|aa)+$' }
    action: redact
    reason: Slow.
    remedy: None.
    examples: ['aaa', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!']
`;

async function check(args: readonly string[], input: string) {
  const [program, ...words] = fromSource as [string, ...string[]];
  const child = spawn(program, [...words, 'guard', 'check', ...args], {
    env: environment,
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: 60_000,
  });
  const code = new Promise<number | null>((resolve) => void child.on('close', resolve));
  child.stdin.end(input);
  return { stdout: await collectText(child.stdout), code: await code };
}

it('guard test names the examples that do not come out, also of a rule that never ends', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'rules.yaml');
  await writeFile(file, rules);
  const { code, stdout } = await run(['guard', 'test', file]);
  assert.equal(code, 1);
  assert.deepEqual(stdout.trimEnd().split('\n'), [
    'number does not find its example: "x = 12"',
    'number finds its counterexample: "x = 4567"',
    `slow cannot be tried on, because its rules did not come to an end within 5000 ms: "${'a'.repeat(60)}!"`,
    'Without an example and a counterexample: slow. Add both, so that they can be tried.',
    '2 rules: 3 of 6 examples do not come out',
  ]);
  const json = JSON.parse((await run(['guard', 'test', file, '--json'])).stdout) as { faults: unknown[] };
  assert.equal(json.faults.length, 3);
  const shipped = await run(['guard', 'test', 'shipped']);
  assert.deepEqual([shipped.code, shipped.stderr], [0, '']);
  assert.match(shipped.stdout, /^\d+ rules: all \d+ examples come out$/m);
  const missing = await run(['guard', 'test', join(folder.path, 'none.yaml')]);
  assert.equal(missing.code, 2);
  assert.match(missing.stderr, /there is no such file/);
  recordProof('F4:rules-tried-by-guard-test');
});

it('guard check says what would be decided', async () => {
  const blocked = await check(['shipped', '--language', 'bash'], 'rm -rf /\n');
  assert.deepEqual([blocked.code, blocked.stdout.split('\n')[0]], [1, 'block']);
  assert.match(blocked.stdout, /delete-system-folder: 1/);
  assert.deepEqual(await check(['shipped'], 'print(1)'), { code: 0, stdout: 'allow\n' });
  const redacted = await check(['shipped', '--after', '--json'], 'AKIAIOSFODNN7EXAMPLE');
  assert.equal(redacted.code, 0);
  assert.deepEqual((JSON.parse(redacted.stdout) as { outputs: string[] }).outputs, ['[redacted: aws-key]']);
  assert.equal((await run(['guard', 'check', 'shipped', '--language', 'perl'])).code, 2);
});

it('a server whose rules have a fault does not start, and doctor says why', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'rules.yaml');
  await writeFile(file, rules.replace('block', 'bluck'));
  const data = join(folder.path, 'data');
  const { code, stderr } = await run(['serve', '--port', '0', '--data', data, '--guard', file]);
  assert.notEqual(code, 0);
  assert.match(stderr, /rules\.yaml: line 5: rules\.0\.action/);
  const doctor = await run([
    'doctor',
    '--pandoc',
    '/nonexistent/pandoc',
    '--port',
    '0',
    '--data',
    data,
    '--guard',
    file,
  ]);
  assert.match(doctor.stdout, /^broken +The rules of the guard.*line 5/m);
  const on = await run([
    'doctor',
    '--pandoc',
    '/nonexistent/pandoc',
    '--port',
    '0',
    '--data',
    data,
    '--guard',
    'shipped',
  ]);
  assert.match(on.stdout, /^ok {5}guard: \d+ rules from shipped$/m);
});
