import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { collectText } from '../../../src/platform/streams.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { startServer, type TestServer } from '../../server.testing.ts';
import { writeRules } from './rules.testing.ts';

interface Question {
  readonly when: string;
  readonly tool: string;
  readonly arguments?: Record<string, unknown>;
  readonly output?: string[];
}

type Answer = (response: ServerResponse, question: Question) => void;

const sayJson =
  (value: unknown): Answer =>
  (response) =>
    void response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
const sayText =
  (text: string, status = 200): Answer =>
  (response) =>
    void response.writeHead(status).end(text);

const allow = sayJson({ verdict: 'allow' });

/** All ways in which an endpoint may misbehave. */
const misbehaviours: Record<string, Answer> = {
  'answers 500': sayText('oops', 500),
  'answers 401': sayText('no', 401),
  redirects: (response) => void response.writeHead(302, { Location: '/elsewhere' }).end(),
  'answers no JSON': sayText('<html>'),
  'answers nothing': sayText(''),
  'answers another value': sayJson(['allow']),
  'answers an odd verdict': sayJson({ verdict: 'maybe' }),
  'answers null': sayJson({ verdict: null }),
  'answers without a verdict': sayJson({ reason: 'fine' }),
  'answers too much': sayText(`{"verdict":"allow","reason":"${'x'.repeat(300_000)}"}`),
  'never answers': () => {},
  'breaks off': (response) => {
    response.writeHead(200, { 'Content-Length': '1000' }).write('{"verdict":');
    setTimeout(() => response.destroy(), 20);
  },
  'drips for ever': (response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write(' '), 50);
    response.on('close', () => clearInterval(timer));
  },
  'closes the connection': (response) => void response.destroy(),
};

describe('a judge by endpoint', { skip: noSandbox }, () => {
  const asked: Question[] = [];
  const answers: Record<'before' | 'after', Answer> = { before: allow, after: allow };
  const endpoint = createServer((request: IncomingMessage, response) => {
    void collectText(request).then((text) => {
      const question = JSON.parse(text) as Question & { when: 'before' | 'after' };
      asked.push(question);
      answers[question.when](response, question);
    });
  });
  let server: TestServer;

  before(async () => {
    await new Promise<void>((resolve) => void endpoint.listen(0, '127.0.0.1', resolve));
    const { port } = endpoint.address() as AddressInfo;
    const judge = {
      url: `http://127.0.0.1:${port}/judge`,
      timeout_ms: 700,
      headers: { Authorization: 'Bearer k' },
    };
    server = await startServer({
      sandbox: 'bubblewrap',
      warmPython: 0,
      warmNode: 0,
      guard: writeRules({ judge }),
    });
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    endpoint.closeAllConnections();
    endpoint.close();
  });

  const runBash = (command: string) => server.call('execute_bash', { command });
  const answerWith = (before: Answer, after: Answer): void => {
    Object.assign(answers, { before, after });
  };

  it('is asked before and after, and what it allows is done', async () => {
    answerWith(allow, allow);
    assert.equal((await runBash('echo hello')).data.stdout, 'hello\n');
    const [before, after] = asked.slice(-2);
    assert.partialDeepStrictEqual(before, {
      when: 'before',
      tool: 'execute_bash',
      arguments: { code: 'echo hello', language: 'bash' },
      caller: { user: 'local' },
    });
    assert.deepEqual([after!.when, after!.output], ['after', ['hello\n', '']]);
  });

  it('blocks code, blocks output and redacts output', async () => {
    answerWith(sayJson({ verdict: 'block', reason: 'Not on Mondays' }), allow);
    const blocked = await runBash('touch /artifacts/never');
    assert.equal(blocked.code, 'guard_blocked');
    assert.match(blocked.text, /Not on Mondays\./);
    answerWith(allow, sayJson({ verdict: 'redact', redact: ['Ada $&'], reason: 'A name' }));
    assert.equal((await runBash("echo 'by Ada $& Byron'")).data.stdout, 'by [redacted: judge] Byron\n');
    answerWith(allow, sayJson({ verdict: 'block', reason: 'Secret' }));
    const withheld = await runBash('echo all of it');
    assert.deepEqual([withheld.data.stdout, withheld.data.exit_code], ['', 0]);
    answerWith(allow, allow);
    assert.deepEqual((await server.call('list_artifacts', {})).data.artifacts, []);
  });

  for (const [what, misbehave] of Object.entries(misbehaviours))
    it(`fails the call where it ${what}`, async () => {
      answerWith(misbehave, allow);
      const before = await runBash('touch /artifacts/never');
      assert.equal(before.code, 'guard_failed', before.text);
      assert.match(before.text, /could not judge this call, because .* Nothing was run\./);
      answerWith(allow, misbehave);
      const after = await runBash('echo shown-to-nobody');
      assert.equal(after.code, 'guard_failed', after.text);
      const [, id] = /recorded as (exec_\w+), without its output/.exec(after.text) ?? [];
      answerWith(allow, allow);
      const record = await server.call('get_execution', { execution_id: id });
      assert.ok(!JSON.stringify(record.data.stdout).includes('shown-to-nobody'), record.text);
      assert.partialDeepStrictEqual(record.data.guard, [{ verdict: 'allow' }, { verdict: 'fail' }]);
    });

  it('fails the call where it wants to redact what has not run, or does not say what', async () => {
    answerWith(sayJson({ verdict: 'redact', redact: ['x'] }), allow);
    assert.equal((await runBash('true')).code, 'guard_failed');
    answerWith(allow, sayJson({ verdict: 'redact' }));
    assert.equal((await runBash('true')).code, 'guard_failed');
  });

  it('nothing that failed has run', async () => {
    answerWith(allow, allow);
    assert.deepEqual((await server.call('list_artifacts', {})).data.artifacts, []);
    recordProof('F4:a-judge-that-misbehaves-fails-the-call', 'F4:a-failing-guard-fails-the-call');
  });
});

it('a judge that is not there fails the call', { skip: noSandbox }, async () => {
  const guard = writeRules({ judge: { url: 'http://127.0.0.1:1/judge', timeout_ms: 500 } });
  await using server = await startServer({ sandbox: 'bubblewrap', warmPython: 0, warmNode: 0, guard });
  const { code, text } = await server.call('execute_bash', { command: 'echo 1' });
  assert.equal(code, 'guard_failed');
  assert.match(text, /its judge failed: no connection \(ECONNREFUSED\)/);
});
