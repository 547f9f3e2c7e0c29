/**
 * Routes: which words of a request lead to which group of tools, and which tools are always offered. It matches; the data
 * come from `routes.json` and a file of the operator (`route-file.ts`).
 */
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { createGlob } from '../../platform/text/glob.ts';
import { createPhraseTable, findPhrases, listPhraseForms, type PhraseTable } from './phrases.ts';

/** What leads to one group. */
export interface ToolRoute {
  readonly group: string;
  /** Words and phrases that lead there. */
  readonly when: readonly string[];
  /** Phrases in which those words mean something else. */
  readonly not: readonly string[];
  readonly examples: readonly string[];
  readonly counterexamples: readonly string[];
}

export interface RouteData {
  /** Patterns of the tools that are always offered. */
  readonly core: readonly string[];
  /** Patterns of tools that run code: words alone do not bring them, since "code" has many meanings. */
  readonly runsCode: readonly string[];
  /** By name, the patterns of the tools of a group. */
  readonly groups: Readonly<Record<string, readonly string[]>>;
  readonly routes: readonly ToolRoute[];
}

type MatchName = (name: string) => boolean;

export interface ToolRoutes {
  isCore(name: string): boolean;
  /** The groups that a request is led to, in the order of the routes. */
  findGroups(request: string): string[];
  /** Of tools that a search found for a request, those that it may bring. */
  keepFound<T extends { readonly name: string }>(request: string, found: readonly T[]): T[];
  /** Whether a tool belongs to a group. */
  isInGroup(name: string, group: string): boolean;
}

interface CompiledRoute {
  readonly group: string;
  readonly when: PhraseTable;
  readonly not: PhraseTable;
}

export function createToolRoutes({ core, runsCode, groups, routes }: RouteData): ToolRoutes {
  const isCore = matchAny(core);
  const isRunner = matchAny(runsCode);
  const members = new Map(Object.entries(groups).map(([group, patterns]) => [group, matchAny(patterns)]));
  const compiled = routes.map(({ group, when, not }): CompiledRoute => ({
    group,
    when: createPhraseTable(when),
    not: createPhraseTable(not),
  }));
  const isInGroup: ToolRoutes['isInGroup'] = (name, group) => members.get(group)?.(name) ?? false;
  const findGroups: ToolRoutes['findGroups'] = (request) => {
    const words = listPhraseForms(request);
    return [...new Set(compiled.filter((route) => leads(route, words)).map(({ group }) => group))];
  };
  return {
    isCore,
    findGroups,
    keepFound(request, found) {
      if (!found.some(({ name }) => isRunner(name))) return [...found];
      const routed = findGroups(request);
      const said = listSaid(compiled, listPhraseForms(request));
      return found.filter(
        ({ name }) =>
          !isRunner(name) || routed.some((group) => isInGroup(name, group)) || said.has(getNoun(name)),
      );
    },
    isInGroup,
  };
}

/** What a tool is about: `session` of `start_session`. */
const getNoun = (name: string): string => name.slice(name.lastIndexOf('_') + 1).replace(/s$/, '');

/** The words of a request that mean what they say: "code" in "zip code" does not. */
function listSaid(routes: readonly CompiledRoute[], words: readonly string[]): ReadonlySet<string> {
  const covered = new Set(routes.flatMap(({ not }) => [...findPhrases(not, words)].flat()));
  return new Set(words.filter((_, place) => !covered.has(place)).map((word) => word.replace(/s$/, '')));
}

/** Thousands of tools are looked up for each request, by the same names. */
function matchAny(patterns: readonly string[]): MatchName {
  const names = new Set(patterns);
  const globs = patterns.filter((pattern) => /[*?]/.test(pattern)).map(createGlob);
  const matched = new BoundedMap<string, boolean>({ mostEntries: 10_000, whenFull: 'clear' });
  return (name) => {
    let fits = matched.get(name);
    if (fits === undefined) matched.set(name, (fits = names.has(name) || globs.some((glob) => glob(name))));
    return fits;
  };
}

/** Whether a phrase is there that is no part of one in which it means something else. */
function leads({ when, not }: CompiledRoute, words: readonly string[]): boolean {
  const covered = new Set([...findPhrases(not, words)].flat());
  for (const places of findPhrases(when, words)) if (!places.some((place) => covered.has(place))) return true;
  return false;
}

/** The tools of the groups that a request is led to, in the order in which they are listed. */
export function listRouted<T extends { readonly name: string }>(
  routes: ToolRoutes,
  request: string,
  tools: readonly T[],
): T[] {
  const groups = routes.findGroups(request);
  if (groups.length === 0) return [];
  return tools.filter(({ name }) => groups.some((group) => routes.isInGroup(name, group)));
}
