/**
 * Who may use which tools of a server: globs on the tools' own names, for everybody, by user and by client. The name of a
 * client is what it calls itself, so a rule by client sorts tools and keeps nobody out.
 */
import { createGlob } from '../../platform/text/glob.ts';

type Matches = (name: string) => boolean;

/** Who asks. */
export interface Asker {
  readonly user: string;
  /** Name and version, as the client gave them. */
  readonly client: string | null;
}

export interface ToolRules {
  /** Whether somebody may use a tool, by its name on its server. */
  mayUse(tool: string, asker: Asker): boolean;
  /** Whether somebody may use anything of the server at all: for others it is not even started. */
  mayReach(asker: Asker): boolean;
}

/** What a file says: allowed are those that fit `allow` and do not fit `deny`. */
export interface ToolFilter {
  readonly allow?: readonly string[] | undefined;
  readonly deny?: readonly string[] | undefined;
}

/** For each glob of names a filter, or a list of globs for which all tools are meant. */
export type FiltersByName = readonly string[] | Readonly<Record<string, ToolFilter>>;

export interface RulesInFile extends ToolFilter {
  readonly users?: FiltersByName | undefined;
  readonly clients?: FiltersByName | undefined;
}

/** Where users or clients are named, whoever fits none of the names may use nothing. */
export function createRules({ users, clients, ...filter }: RulesInFile): ToolRules {
  const forAll = createFilter(filter);
  const forUser = createNamedFilters(users);
  const forClient = createNamedFilters(clients);
  const find = ({ user, client }: Asker): readonly (Matches | null)[] => [
    forUser([user]),
    forClient(listClientNames(client)),
  ];
  return {
    mayUse: (tool, asker) => forAll(tool) && find(asker).every((fits) => fits?.(tool) ?? false),
    mayReach: (asker) => !find(asker).includes(null),
  };
}

/** A rule may be about a program, or about one version of it. */
function listClientNames(client: string | null): string[] {
  if (client === null) return [''];
  return [client, client.slice(0, Math.max(client.lastIndexOf(' '), 0))];
}

function createFilter({ allow, deny }: ToolFilter): Matches {
  const allowed = allow === undefined ? null : allow.map(createGlob);
  const denied = (deny ?? []).map(createGlob);
  return (tool) =>
    (allowed === null || allowed.some((fits) => fits(tool))) && !denied.some((fits) => fits(tool));
}

/** The first rule that fits one of the names decides; null where none does. */
function createNamedFilters(
  filters: FiltersByName | undefined,
): (names: readonly string[]) => Matches | null {
  if (filters === undefined) return () => () => true;
  const entries: readonly (readonly [string, ToolFilter])[] = isList(filters)
    ? filters.map((name) => [name, {}] as const)
    : Object.entries(filters);
  const rules = entries.map(([name, filter]) => ({ fits: createGlob(name), filter: createFilter(filter) }));
  return (names) => rules.find(({ fits }) => names.some(fits))?.filter ?? null;
}

const isList = (filters: FiltersByName): filters is readonly string[] => Array.isArray(filters);
