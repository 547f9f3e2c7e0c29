/**
 * The tools that a model sees for one request: the core, the best of the search, those of the groups that the request is
 * led to, and further ones that fit. A request that nothing fits still sees the core.
 */
import type { SearchableTool } from './fields.ts';
import type { ToolRoutes } from './routes.ts';
import { listRouted } from './routes.ts';
import { searchTools } from './search.ts';

export interface ChooseOptions {
  readonly routes: ToolRoutes;
  /** At most so many; more make models choose badly. */
  readonly most?: number;
}

const usualMost = 25;
/** So many of the search are offered, however many tools a routed group has. */
const surelyFound = 5;

/** Of a routed group the tools that fit best come first, as far as they are ranked. */
const rankedPerOffered = 10;

/** In the order in which the tools are listed, so that the same choice is the same text for a prompt cache. */
export function chooseListedTools<T extends SearchableTool>(
  tools: readonly T[],
  request: string,
  { routes, most = usualMost }: ChooseOptions,
): T[] {
  const core = tools.filter(({ name }) => routes.isCore(name));
  const ranked = searchTools(tools, request, most * rankedPerOffered);
  const found = routes.keepFound(request, ranked);
  const rank = new Map(found.map((tool, at) => [tool, at]));
  const rankOf = (tool: T): number => rank.get(tool) ?? tools.length;
  const routed = listRouted(routes, request, tools).toSorted((one, other) => rankOf(one) - rankOf(other));
  const ordered = [...core, ...found.slice(0, surelyFound), ...routed, ...found.slice(surelyFound)];
  const chosen = new Set([...new Set(ordered)].slice(0, most));
  return tools.filter((tool) => chosen.has(tool));
}
