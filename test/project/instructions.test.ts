import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startServer } from '../server.testing.ts';
import { furtherGroups, toolGroups } from '../../src/core/offer/tool.ts';

async function readOffer(tools: string[]): Promise<{ names: string[]; instructions: string }> {
  await using server = await startServer({ tools });
  const { tools: listed } = await server.client.listTools();
  return { names: listed.map(({ name }) => name), instructions: server.client.getInstructions() ?? '' };
}

it('the instructions cover every part of the product, and name no tool that is not there', async () => {
  const { names: every, instructions } = await readOffer(['all']);
  for (const name of ['execute_code', 'get_artifact', 'build_exports_content', 'search_index', 'pack_crate'])
    assert.match(instructions, new RegExp(`\\b${name}\\b`));
  for (const group of [...toolGroups, ...furtherGroups]) {
    const { names, instructions } = await readOffer([group]);
    const named = every.filter((name) => new RegExp(`\\b${name}\\b`).test(instructions));
    assert.deepEqual(
      named.filter((name) => !names.includes(name)),
      [],
      group,
    );
  }
});
