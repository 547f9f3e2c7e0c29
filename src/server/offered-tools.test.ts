import assert from 'node:assert/strict';
import { it } from 'node:test';
import { loadConfig } from './settings.ts';
import { createOwnToolbox, type Toolbox } from '../core/offer/toolbox.ts';
import { bindTool, type ToolContext } from '../core/offer/tool.ts';
import { recordProof } from '../../test/requirements/requirements.testing.ts';
import { chooseListedTools, loadRoutes } from '../features/tool-search/tool-search.ts';
import { discoveryTools } from '../features/tool-search/tools.ts';
import { createClosedOffer } from './offer.ts';

const routes = loadRoutes(null);
const context = { mayUse: () => true } as unknown as ToolContext;
/** All tools as they are. */
const toolbox: Toolbox = createOwnToolbox(
  (await createClosedOffer({ ...loadConfig({}, {}).config, tools: ['all'] }, null)).tools,
);
const tools = await toolbox.list(context);

/** Of the core there is one, which every request has. */
const runners = [
  'execute_bash',
  'run_script',
  'start_session',
  'send_to_session',
  'manage_session',
  'install_packages',
];
const search = bindTool(
  discoveryTools.find(({ name }) => name === 'search_tools')!,
  {
    toolbox,
    toolRoutes: routes,
  },
);

const listChosen = (request: string): string[] =>
  chooseListedTools(tools, request, { routes }).map(({ name }) => name);

async function listFound(query: string): Promise<string[]> {
  const answer = await search.handle(search.input.parse({ query, limit: 20 }), context);
  return (answer as unknown as { structured: { tools: { name: string }[] } }).structured.tools.map(
    ({ name }) => name,
  );
}

it('words that only look like code bring no tool that runs code, neither by a route nor by words', async () => {
  for (const word of ['zip code', 'barcode', 'description', 'computer'])
    for (const request of [
      word,
      `what is my ${word}`,
      `Find the ${word}s, please`,
      `write a ${word} of this`,
    ]) {
      const chosen = listChosen(request);
      assert.deepEqual(
        chosen.filter((name) => runners.includes(name)),
        [],
        request,
      );
      assert.ok(chosen.includes('execute_code'), 'the core is never hidden');
      const found = await listFound(request);
      assert.deepEqual(
        found.filter((name) => ['execute_code', ...runners].includes(name)),
        [],
        request,
      );
    }
  recordProof('F1:counterexamples-do-not-route');
});

it('what needs code gets it', async () => {
  for (const request of ['plot the data', 'install pandas']) {
    const chosen = listChosen(request);
    for (const name of ['execute_code', 'execute_bash', 'install_packages'])
      assert.ok(chosen.includes(name), request);
    assert.ok((await listFound(request)).includes('execute_code'), request);
  }
  for (const [query, name] of [
    ['start a session', 'start_session'],
    ['run_script', 'run_script'],
    ['install packages', 'install_packages'],
    ['write code that looks up a zip code', 'execute_code'],
  ] as const)
    assert.ok((await listFound(query)).includes(name), query);
});
