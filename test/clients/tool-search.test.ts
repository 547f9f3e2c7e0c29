import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startServer } from '../server.testing.ts';
import { installClients } from './packages.testing.ts';
import { claudeCode } from './programs.testing.ts';
import { runClient } from './run-client.testing.ts';

const found = await installClients();
const packages = 'folder' in found ? found.folder : '';
const skip = 'reason' in found ? found.reason : claudeCode.missing(packages);

/** What a model would look for, and the tool that it has to find. */
const searches = {
  'convert markdown to docx': 'build_exports_content',
  'find dataset': 'search_index',
  'ro-crate': 'pack_crate',
  'citation bibliography': 'validate_citations',
  'plot chart image': 'get_artifact',
  'upload file': 'request_upload',
};

/** Its model gets the names of most tools alone, and looks for the rest by words. */
it('in Claude Code every task finds its tool, and execute_code is there at once', { skip }, async () => {
  await using server = await startServer();
  const queries = Object.keys(searches);
  const script = queries.map((query) => () => ({ ownTool: 'ToolSearch', input: { query, max_results: 5 } }));
  const { received, requests } = await runClient(claudeCode, packages, { url: `${server.url}/mcp` }, script);
  for (const [i, tool] of Object.values(searches).entries())
    assert.match(received[i]!.text, new RegExp(`__${tool}\\b`), `${queries[i]} found ${received[i]!.text}`);
  const [first] = requests as { tools: { name: string }[] }[];
  const names = first!.tools.map(({ name }) => name);
  assert.ok(
    names.some((name) => name.endsWith('__execute_code')),
    `loaded from the start: ${names.join(', ')}`,
  );
});
