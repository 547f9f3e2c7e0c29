import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { audited } from '../audit/lines.testing.ts';
import { noSandbox, run, useCodeServer } from '../../code.testing.ts';
import { filesHolding } from '../../secrets.testing.ts';
import { replyOf, type TestServer } from '../../server.testing.ts';
import { writeRules } from './rules.testing.ts';

const key = 'AKIAIOSFODNN7EXAMPLE';
/** Prints the key without having it in its code. */
const printKey = 'print("AKIA" + "iosfodnn7example".upper())';
const forbidden = 'touch /artifacts/it-ran # forbidden-word';

const word = { reason: 'That word is not allowed.', remedy: 'Use another.' };
const rules = writeRules({
  use: ['destruction', 'secrets-in-output'],
  rules: [
    {
      id: 'word',
      when: 'before',
      tools: ['execute_*', 'run_script', 'send_to_session'],
      match: { code: 'forbidden-word' },
      action: 'block',
      ...word,
    },
    { id: 'noted', when: 'before', match: { code: 'noted-word' }, action: 'record', ...word },
    {
      id: 'shared',
      when: 'before',
      tools: ['get_*'],
      match: { argument: 'secret', name: 'name' },
      action: 'block',
      ...word,
    },
    { id: 'withheld', when: 'after', match: { output: 'withhold-this' }, action: 'block', ...word },
    {
      id: 'listed',
      when: 'after',
      tools: ['list_artifacts'],
      match: { output: 'private' },
      action: 'redact',
      ...word,
    },
  ],
});

/** The lines of the journal, by the ids of their executions. */
function readJournal(server: TestServer): Map<string, Record<string, unknown>> {
  const lines = globSync(join(server.data, 'logs', 'executions-*.jsonl')).flatMap((file) =>
    readFileSync(file, 'utf8').trimEnd().split('\n'),
  );
  const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return new Map(parsed.map((line) => [line['execution_id'] as string, line]));
}

describe('runs under a guard', { skip: noSandbox }, () => {
  const server = useCodeServer({ guard: rules, tools: ['all'] });
  const listFiles = async (): Promise<string[]> => (await server().call('list_artifacts', {})).data.artifacts;

  it('code that a rule blocks never runs, in any of the tools that run code', async () => {
    const bash = { language: 'bash', code: forbidden };
    const saved = await server().call('save_script', { name: 'bad', ...bash, description: 'x' });
    assert.equal(saved.failed, false, saved.text);
    const worse = { name: 'worse', language: 'bash', code: 'rm -rf /', description: 'x' };
    assert.equal((await server().call('save_script', worse)).code, 'guard_blocked');
    const session = (await server().call('start_session', { language: 'bash' })).data.session_id;
    const calls: [string, Record<string, unknown>][] = [
      ['execute_code', bash],
      ['execute_code', { ...bash, session_id: 'named' }],
      ['execute_code', { ...bash, background: true }],
      ['execute_bash', { command: forbidden }],
      ['run_script', { name: 'bad' }],
      ['run_script', { name: 'bad', session_id: 'named' }],
      ['send_to_session', { session_id: session, code: forbidden }],
    ];
    for (const [tool, input] of calls) {
      const { code, text } = await server().call(tool, input);
      assert.equal(code, 'guard_blocked', `${tool}: ${text}`);
      assert.match(text, /Nothing was run\. That word is not allowed\. Use another\. \(rule word\)/);
    }
    assert.deepEqual(await listFiles(), []);
    // The session is there and has run nothing; no session was made for the blocked ones.
    const { sessions } = (await server().call('list_sessions', {})).data;
    assert.deepEqual(
      sessions.map(({ session_id }: { session_id: string }) => session_id),
      [session],
    );
    assert.equal((await run(server(), 'bash', 'echo fine')).stdout, 'fine\n');
    recordProof('F4:blocked-code-never-runs', 'F4:blocked-code-of-scripts-and-sessions-never-runs');
  });

  it('a session that is to begin anew with blocked code stays as it was', async () => {
    await run(server(), 'bash', 'kept=here', { session_id: 'mine' });
    const reset = { language: 'bash', code: forbidden, session_id: 'mine', reset: true };
    assert.equal((await server().call('execute_code', reset)).code, 'guard_blocked');
    assert.equal((await run(server(), 'bash', 'echo $kept', { session_id: 'mine' })).stdout, 'here\n');
  });

  it('code that is spelled in another way is found, and what is computed is not', async () => {
    const hidden = [
      "eval 'rm -rf' /",
      'r""m -rf /',
      'rm${IFS}-rf${IFS}/',
      'r\\m -rf /',
      'echo cm0gLXJmIC8gIyBhbGwgb2YgaXQK | base64 -d > x',
      'ｒｍ -rf /',
      'r\u{200b}m -rf /',
    ];
    const codes = await Promise.all(
      hidden.map(async (command) => (await server().call('execute_bash', { command })).code),
    );
    assert.deepEqual(codes, [null, ...hidden.slice(1).map(() => 'guard_blocked')]);
  });

  it('what a run prints is redacted everywhere: answer, record, files, progress, live output', async () => {
    const heard: string[] = [];
    const slow = `${printKey}\nimport sys, time\nsys.stdout.flush()\ntime.sleep(1)\n"value " + "AKIA" + "iosfodnn7example".upper()`;
    const answer = await server().client.callTool(
      { name: 'execute_code', arguments: { language: 'python', code: slow } },
      { onprogress: ({ message }) => void heard.push(message ?? '') },
    );
    const data = replyOf(answer).data;
    assert.equal(data['stdout'], '[redacted: aws-key]\n');
    assert.match(data['results'][0].text, /^'value \[redacted: aws-key\]'$/);
    assert.match(
      (answer.content as { text: string }[])[0]!.text,
      /Guard, after the run: redact \(aws-key 2\)\. It has a key of AWS/,
    );
    assert.ok(!heard.join('').includes(key), heard.join(''));
    const record = await server().call('get_execution', { execution_id: data['execution_id'] });
    assert.ok(!record.text.includes(key) && !JSON.stringify(record.data).includes(key));
    assert.equal(readJournal(server()).get(data['execution_id'])!['stdout'], '[redacted: aws-key]\n');
    assert.deepEqual(await filesHolding(server().data, key), []);
    recordProof('F4:output-judged-after');
  });

  it('a run in the background shows nothing before it was judged', async () => {
    const code = `${printKey}\nimport sys, time\nsys.stdout.flush()\ntime.sleep(1.5)`;
    const { execution_id } = await run(server(), 'python', code, { background: true });
    const live = await server().call('get_execution', { execution_id, output_from: 0 });
    assert.match(live.text, /holds it back until the run has ended/);
    const ended = await server().call('get_execution', { execution_id, wait_ms: 20_000, output_from: 0 });
    assert.match(ended.text, /\[redacted: aws-key\]/);
    assert.ok(!live.text.includes(key) && !ended.text.includes(key));
  });

  it('the whole of a long output is not kept if a secret is anywhere in it', async () => {
    const code = `print("x" * 3000000)\n${printKey}\nprint("y" * 3000000)`;
    const long = await run(server(), 'python', code);
    assert.equal(long.full_stdout, null);
    assert.equal(long.guard[0].verdict, 'redact');
    const clean = await run(server(), 'python', 'print("x" * 3000000)');
    assert.equal((await (await fetch(clean.full_stdout.downloadUrl)).text()).length, 3_000_001);
    assert.deepEqual(await filesHolding(server().data, key), []);
  });

  it('output that is blocked is withheld, and the rest of the answer is not', async () => {
    const reply = await server().call('execute_bash', {
      command: 'echo withhold-""this; touch /artifacts/made',
    });
    assert.deepEqual([reply.failed, reply.data.stdout, reply.data.exit_code], [false, '', 0]);
    assert.match(reply.text, /Guard, after the run: block \(withheld 1\)\. That word is not allowed/);
    assert.ok((await listFiles()).includes('made'));
  });

  it('other tools are judged by their arguments and by their answers', async () => {
    await run(server(), 'bash', 'echo 1 > /artifacts/secret.txt; echo 2 > /artifacts/private.txt');
    const shared = await server().call('get_artifact', { name: 'secret.txt' });
    assert.equal(shared.code, 'guard_blocked');
    const listed = await server().call('list_artifacts', {});
    assert.ok(!listed.text.includes('private.txt') && !JSON.stringify(listed.data).includes('private.txt'));
    assert.match(listed.text, /The guard of this server redacted this answer\. That word is not allowed/);
    recordProof('F4:arguments-judged-before');
  });

  it('every verdict is in the audit log and in the line of the execution, with trace, session and memory', async () => {
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const _meta = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
    const code = `# noted-word\n${printKey}\nx = bytearray(60_000_000)`;
    const input = { language: 'python', code, session_id: 'traced' };
    const cell = await server().client.callTool({ name: 'execute_code', arguments: input, _meta });
    const plain = await server().client.callTool({
      name: 'execute_code',
      arguments: { language: 'python', code },
      _meta,
    });
    const blocked = await server().call('execute_bash', { command: forbidden });
    assert.equal(blocked.code, 'guard_blocked');
    const [inSession, alone] = [cell, plain].map(
      ({ structuredContent }) => (structuredContent as { execution_id: string }).execution_id,
    );
    await eventually(() => readJournal(server()).has(alone!));
    const lines = readJournal(server());
    const expected = [
      { when: 'before', verdict: 'record', rules: [{ rule: 'noted', count: 1 }], reason: null },
      { when: 'after', verdict: 'redact', rules: [{ rule: 'aws-key', count: 1 }] },
    ];
    for (const id of [inSession!, alone!]) {
      const { guard, trace_id } = lines.get(id)! as { guard: Record<string, unknown>[]; trace_id: string };
      assert.partialDeepStrictEqual(guard, expected);
      assert.equal(trace_id, traceId);
    }
    assert.match(lines.get(inSession!)!['session_id'] as string, /^sess_/);
    const peak = lines.get(alone!)!['peak_memory_bytes'];
    assert.ok(typeof peak === 'number' && peak > 50_000_000, String(peak));
    const [refused] = [...lines.values()].filter(({ code: text }) => text === forbidden).slice(-1);
    assert.deepEqual([refused!['end_reason'], refused!['succeeded']], ['refused', false]);
    assert.partialDeepStrictEqual(refused!['guard'] as unknown[], [{ when: 'before', verdict: 'block' }]);
    const told = await audited(
      server().data,
      ({ operation, subject }) => operation === 'guard' && subject === alone,
      2,
    );
    assert.deepEqual(
      told.map(({ level, result, details }) => [level, result, details]),
      [
        ['info', 'record', { tool: 'execute_code', when: 'before', rules: 'noted 1' }],
        ['info', 'redact', { tool: 'execute_code', when: 'after', rules: 'aws-key 1' }],
      ],
    );
    const [block] = await audited(
      server().data,
      ({ operation, subject }) => operation === 'guard' && subject === refused!['execution_id'],
    );
    assert.deepEqual([block!.level, block!.result], ['warning', 'block']);
    const [call] = await audited(
      server().data,
      ({ operation, result }) => operation === 'execute_bash' && result === 'guard_blocked',
    );
    assert.ok(call !== undefined);
    recordProof('F4:every-verdict-in-the-audit-log-and-the-line');
    recordProof('D9:peak-memory-session-guard-verdicts-and-trace-id-in-the-line');
  });
});
