import assert from 'node:assert/strict';
import { once } from 'node:events';
import { it } from 'node:test';
import { patienceMs } from '../../src/platform/eventually.testing.ts';
import { startCli, temporaryFolder } from './cli.testing.ts';
import { openingOf } from './messages.testing.ts';

/** `workcrate stdio` whose answers nobody reads, once it has given more of them than the pipe takes. */
async function startUntaken() {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await temporaryFolder());
  const child = startCli(['stdio', '--port', '0', '--data', folder.path, '--sandbox', 'off']);
  started.defer(() => void child.kill('SIGKILL'));
  const { opening, request } = openingOf('2025-11-25');
  const listings = Array.from({ length: 40 }, (_, index) => request(10 + index, 'tools/list'));
  const last = request(90, 'tools/call', { name: 'nope_tool', arguments: {} });
  const lines = [...opening, ...listings, last].map((message) => `${JSON.stringify(message)}\n`);
  child.stdin.write(lines.join(''));
  let logged = '';
  for await (const chunk of child.stderr.iterator({ destroyOnReturn: false }))
    if ((logged += chunk).includes('"event":"tool.refused"')) break;
  child.stderr.resume();
  const running = started.move();
  return { child, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

const endings = {
  'a signal': (child: ReturnType<typeof startCli>) => void child.kill('SIGTERM'),
  'the end of stdin': (child: ReturnType<typeof startCli>) => void child.stdin.end(),
};

for (const [what, end] of Object.entries(endings))
  it(`${what} ends it although somebody holds stdout and does not read`, async () => {
    await using untaken = await startUntaken();
    const { child } = untaken;
    end(child);
    const signal = AbortSignal.timeout(patienceMs);
    assert.deepEqual(await once(child, 'exit', { signal }), [0, null]);
  });
