import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { loadConfig } from './settings.ts';
import { toOfferedTool } from '../core/offer/tool.ts';
import type { Tool } from '../core/offer/tool.ts';
import { createLog } from '../platform/observability/log.ts';
import { createClosedOffer } from './offer.ts';
import { startWorkcrate } from './start.ts';

/** All that a client is told of a tool. */
function describeTool(tool: Tool): string {
  const { name, group, title, description, searchHint, alwaysLoad, annotations } = tool;
  const { inputSchema, outputSchema } = toOfferedTool(tool);
  const schemas = [
    inputSchema['~standard'].jsonSchema.input({ target: 'draft-2020-12' }),
    outputSchema['~standard'].jsonSchema.output({ target: 'draft-2020-12' }),
  ];
  return JSON.stringify({ name, group, title, description, searchHint, alwaysLoad, annotations, schemas });
}

const cases: Record<string, Record<string, string>> = {
  'the usual settings': {},
  'all groups, a library and sources elsewhere': {
    tools: 'all',
    'zotero-library': 'users/1',
    'crate-source': 's3://crates',
    's3-endpoint': 'http://127.0.0.1:9',
    'crate-interval': '0',
  },
};

for (const [name, flags] of Object.entries(cases))
  it(`what is told of the tools before the rooms are open is what they say then, with ${name}`, async () => {
    const data = await mkdtemp(join(tmpdir(), 'workcrate-tools-'));
    try {
      const environment = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' };
      const { config } = loadConfig({ data, port: '0', sandbox: 'off', ...flags }, environment);
      await using server = await startWorkcrate(config, { sharesMachine: true, log: createLog('off') });
      const [closed, open] = [await createClosedOffer(config, null), server.offer];
      assert.deepEqual(closed.tools.map(describeTool), open.tools.map(describeTool));
      for (const kind of ['resources', 'prompts'] as const)
        assert.equal(JSON.stringify(closed[kind]), JSON.stringify(open[kind]));
      await assert.rejects(async () => closed.tools[0]!.handle({} as never, {} as never));
    } finally {
      await rm(data, { recursive: true });
    }
  });
