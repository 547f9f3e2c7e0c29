import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../src/server/settings.ts';
import { startWorkcrate } from '../src/server/start.ts';

/** A server for one example, on a data folder that goes with it. */
export async function startOwn() {
  const data = await mkdtemp(join(tmpdir(), 'workcrate-example-'));
  const { config } = loadConfig({ data, port: '0', 'log-level': 'error' }, {});
  const workcrate = await startWorkcrate(config, { sharesMachine: false });
  return {
    url: workcrate.url,
    async [Symbol.asyncDispose]() {
      await workcrate[Symbol.asyncDispose]();
      await rm(data, { recursive: true });
    },
  };
}
