import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { environment, fromSource, serve, temporaryFolder, type Program } from '../cli/program.testing.ts';
import { call, say, startEndpoint, type Reaction } from './endpoint.testing.ts';

/** Runs a program in a terminal, and types what the script says where its text appears. Ends with its exit code. */
const drive = `
import json, os, pty, select, sys
answers, argv = json.loads(sys.argv[1]), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execv(argv[0], argv)
seen = b''
while True:
    ready, _, _ = select.select([terminal], [], [], 100)
    if not ready:
        os.kill(pid, 9)
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    sys.stdout.buffer.write(piece)
    sys.stdout.flush()
    seen += piece
    while answers and answers[0][0].encode() in seen:
        expected, answer = answers.pop(0)
        seen = seen.split(expected.encode(), 1)[1]
        os.write(terminal, answer.encode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

describe('workcrate ask at a terminal', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let server: Program;
  before(async () => {
    folder = await temporaryFolder();
    server = await serve(['--data', join(folder.path, 'data')]);
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  async function ask(reactions: readonly Reaction[], answers: readonly [string, string][]) {
    await using endpoint = await startEndpoint(...reactions);
    const words = [
      'ask',
      'Delete this file',
      '--endpoint',
      endpoint.url,
      '--model',
      'm',
      '--url',
      server.url,
    ];
    const args = ['-c', drive, JSON.stringify(answers), ...fromSource, ...words];
    const child = spawn('python3', args, {
      env: { ...environment, TERM: 'dumb' },
      cwd: folder.path,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 120_000,
    });
    const [shown] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { code: child.exitCode, shown };
  }

  const remove = call('delete_file', { file_id: 'file_000000000000' });

  it('asks before sensitive calls, and shows their arguments', async () => {
    const prompt = '[a]lways in this run? ';
    const { code, shown } = await ask(
      [remove, remove, remove, say('Done.')],
      [
        [prompt, 'n\n'],
        [prompt, 'a\n'],
      ],
    );
    assert.equal(code, 0, shown);
    assert.match(shown, /Allow delete_file \{\s+"file_id": "file_000000000000"\s+\}/);
    assert.deepEqual(
      [...shown.matchAll(/← (\w+)/g)].map(([, outcome]) => outcome),
      ['refused', 'failed', 'failed'],
    );
    recordProof('F5:asks-before-sensitive-calls');
  });

  it('Ctrl-C at a question cancels', async () => {
    const { code, shown } = await ask([remove, say('Done.')], [['in this run? ', '\u0003']]);
    assert.equal(code, 130, shown);
  });

  it('questions of the server are answered there', async () => {
    const read = call('read_client_file', { path: 'docs/plan.md', via: 'form' });
    const { code, shown } = await ask([read, say('Refused.')], [['[y/n] ', 'n\n']]);
    assert.equal(code, 0, shown);
    assert.match(shown, /The server asks: .*docs\/plan\.md/);
    assert.match(shown, /← failed: /);
    recordProof('F5:answers-questions-of-the-server');
  });
});
