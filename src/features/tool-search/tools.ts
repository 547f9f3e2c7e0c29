/**
 * The tools `search_tools` and `call_tool`: the way to every tool that is not in the list of a client. They reach what the
 * caller may use, and nothing else; the ranking is in `tool-index.ts`.
 */
import { WorkcrateError } from '../../platform/errors.ts';
import { quoteName, toPlainJson } from '../../platform/text/text.ts';
import { declareTool, type DeclaredTool, type ToolContext } from '../../core/offer/tool.ts';
import type { Toolbox, ToolDefinition } from '../../core/offer/toolbox.ts';
import { callByName } from './call.ts';
import { listRouted, type ToolRoutes } from './routes.ts';
import {
  callInput,
  callShape,
  toolSearchInput,
  searchShape,
  showFound,
  usualLimit,
  type Effect,
  type FoundTool,
  type SearchAnswer,
} from './schema.ts';
import { searchTools } from './search.ts';

/** What these tools work on. */
export interface DiscoveryRoom {
  readonly toolbox: Toolbox;
  readonly toolRoutes: ToolRoutes;
}

const ownNames: ReadonlySet<string> = new Set(['search_tools', 'call_tool']);

const searchToolsTool = declareTool({
  name: 'search_tools',
  group: 'discovery',
  title: 'Find a tool',
  description:
    'Finds tools by what you want to do, also those that are not in your list, with the arguments they take. Then use call_tool.',
  searchHint: 'more tools, which tool, discover',
  input: toolSearchInput,
  output: searchShape,
  annotations: { readOnlyHint: true, openWorldHint: false },
  auditFields: { subject: [] },
  async handle(
    { toolbox, toolRoutes }: DiscoveryRoom,
    { query, detail = 'brief', limit = usualLimit },
    context,
  ) {
    const tools = await listOtherTools(toolbox, context);
    const found = findTools(tools, query, limit, toolRoutes);
    const structured = { tools: found.map((tool) => showFound(tool, detail)), searched: tools.length };
    return { text: describeToolSearch(structured), structured };
  },
});

const listOtherTools = async (toolbox: Toolbox, context: ToolContext): Promise<ToolDefinition[]> =>
  (await toolbox.list(context)).filter(({ name }) => !ownNames.has(name));

/** What the words find, and then what a route leads to: it knows tasks that no tool describes in these words. */
function findTools(tools: readonly ToolDefinition[], query: string, limit: number, routes: ToolRoutes) {
  // More than are wanted, since some may be left out.
  const found = routes.keepFound(query, searchTools(tools, query, limit * 2)).slice(0, limit);
  if (found.length === limit) return found;
  const routed = listRouted(routes, query, tools).filter((tool) => !found.includes(tool));
  return [...found, ...routed].slice(0, limit);
}

const callToolTool = declareTool({
  name: 'call_tool',
  group: 'discovery',
  title: 'Call a tool by its name',
  description: 'Calls a tool that search_tools found. It answers as the tool itself does.',
  input: callInput,
  output: callShape,
  // It does whatever the tool does that it calls, which clients have to assume is the worst.
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  auditFields: { subject: ['name'] },
  mayBeTask: true,
  async handle({ toolbox }: DiscoveryRoom, { name, arguments: given = {} }, context) {
    if (ownNames.has(name))
      throw new WorkcrateError('invalid_input', `Call ${name} directly: it is in your list of tools.`);
    return callByName(toolbox, name, given, context);
  },
});

export const discoveryTools: readonly DeclaredTool<DiscoveryRoom>[] = [searchToolsTool, callToolTool];

const effectWords: Readonly<Record<Effect, string>> = {
  reads: 'only reads',
  changes: 'changes something',
  may_destroy: 'may delete or overwrite',
  unknown: 'may change something',
};

/** What is said to a model: every fact, in few words. Texts of other servers are quoted. */
function describeToolSearch({ tools, searched }: SearchAnswer): string {
  const among = searched === 1 ? 'one tool' : `${searched} tools`;
  if (tools.length === 0)
    return `None of ${among} fits. Say it in other words: what is done, and to what, such as "create issue".`;
  return [
    `Best first, of ${among}. Call one with call_tool, by its name.`,
    ...tools.flatMap(describeFound),
  ].join('\n');
}

function describeFound(tool: FoundTool): string[] {
  const head = `${quoteName(tool.name)} (of ${quoteName(tool.server)}; ${effectWords[tool.effect]})`;
  return [
    tool.description === null ? `- ${head}` : `- ${head}: ${toPlainJson(tool.description)}`,
    ...(tool.arguments === null ? [] : [`  arguments: ${tool.arguments}`]),
    ...(tool.input_schema === null ? [] : [`  input schema: ${tool.input_schema}`]),
  ];
}
