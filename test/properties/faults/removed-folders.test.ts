import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { noSandbox } from '../../code.testing.ts';
import { startServer } from '../../server.testing.ts';

/** docs/reference/limits.md: the operator may delete in places/. */
it(
  'what the operator removes from places/ under a running server is made again for the next run',
  { skip: noSandbox },
  async () => {
    await using server = await startServer({ sandbox: 'bubblewrap', warmNode: 0 });
    const home = join(server.data, 'places', '1');
    const bash = (command: string) => server.call('execute_bash', { command });
    assert.match((await bash('echo first > /workspace/kept; cat /workspace/kept')).text, /first/);
    for (const spoil of [
      () => rmSync(home, { recursive: true }),
      () => rmSync(join(home, 'workspace'), { recursive: true }),
      () => rmSync(join(home, 'artifacts'), { recursive: true }),
      () => {
        rmSync(home, { recursive: true });
        mkdirSync(join(home, 'workspace'), { recursive: true });
      },
    ]) {
      spoil();
      for (let run = 0; run < 2; run++) {
        const { failed, text } = await bash('touch /workspace/a /artifacts/b && ls /workspace && echo fine');
        assert.equal(failed, false, text);
        assert.match(text, /fine/);
        assert.doesNotMatch(text, /kept/);
      }
    }
  },
);
