/**
 * The tools, resources and prompts that the settings ask for, made of rooms; or made without rooms, for a client that has
 * to know them before anything is open. Which there are at all is in `tools.ts` and `resources.ts`.
 */
import { getAuditFolder } from '../core/audit/audit.ts';
import type { ServerConfig as Config } from './settings.ts';
import { WorkcrateError } from '../platform/errors.ts';
import type { OutputBounds } from '../core/runs/executions.ts';
import type { Surroundings } from '../core/runs/surroundings.ts';
import { localCaller } from '../core/identity.ts';
import { createViewsExtension } from '../features/apps/apps.ts';
import type { Terms } from '../core/feature.ts';
import type { Offer } from '../surfaces/mcp/late-offer.ts';
import type { ToolGroup } from '../core/offer/tool.ts';
import { describeTools } from './instructions.ts';
import type { Crates } from '../features/crates/crates.ts';
import { parseSourceAddress } from '../features/crates/sources/address.ts';
import { getPackTargetKind } from './pack-target.ts';
import { features } from './features.ts';
import { bindFeature, declareFeatures, joinOffers, type FeatureOffer } from './open-features.ts';
import { isSwitchedOn, listRoomResources } from './resources.ts';
import { selectTools, type SelectedTools, type ToolsOptions } from './tools.ts';

/** What tools take from the settings alone. */
function toToolTerms(config: Config) {
  const { clientPaths, clientListPaths } = config;
  return {
    ...toTerms(config),
    auditLog: { folder: getAuditFolder(config.data), key: config.auditKey },
    linkSeconds: config.fileTtl,
    idleMs: config.sessionIdle * 1000,
    hasHostList: config.sandboxNetwork.startsWith('allow:'),
    readable: clientPaths,
    listable: clientListPaths.length === 0 ? clientPaths : clientListPaths,
  };
}

/** What every feature is told of the settings of the core. */
export const toTerms = (config: Config): Terms => ({
  timeoutMs: config.runTimeout * 1000,
  maxTimeoutMs: config.runMaxTimeout * 1000,
  detachMs: config.detachAfter === 0 ? null : config.detachAfter * 1000,
  outputBounds: getOutputBounds(config),
  mayHaveNetwork: config.sandboxNetwork !== 'none' || config.sandbox === 'subprocess',
  fileTtl: config.fileTtl,
  maxTtl: config.maxTtl,
});

/** How much of each output is shown. Refuses a head and a tail that together are longer than the whole. */
export function getOutputBounds({
  outputChars: most,
  outputHead: head,
  outputTail: tail,
}: Config): OutputBounds {
  if (head + tail <= most) return { most, head, tail };
  throw new WorkcrateError(
    'config_invalid',
    `--output-head ${head} and --output-tail ${tail} are more than --output-chars ${most}: output that is cut would be longer than output that is not. Lower them, or raise --output-chars.`,
  );
}

/** What every factory of MCP servers takes from the settings alone. */
export const toFactoryTerms = (config: Config) => ({
  describeTools,
  structured: config.structured,
  /** The caller where authentication is off. */
  caller: localCaller,
  askMs: config.clientTimeout * 1000,
});

/** What tools are made of besides settings. */
export type ToolRooms = Omit<ToolsOptions, keyof ReturnType<typeof toToolTerms> | 'surroundings'>;

/** Of which groups tools are offered, and whether operators can be told from others. */
export const readToolGroups = ({ tools: groups, auth }: Config) => ({
  groups,
  knowsOperators: auth.length > 0,
});

/** What is offered of the groups that are switched on. */
export const createOffer = (
  config: Config,
  rooms: ToolRooms,
  surroundings: Surroundings | null,
  ofFeatures: FeatureOffer,
) => selectOffer(config, { ...rooms, ...toToolTerms(config), surroundings }, ofFeatures);

function selectOffer(config: Config, options: ToolsOptions, ofFeatures: FeatureOffer): Offer & SelectedTools {
  const { tools, everyTool } = selectTools(options, readToolGroups(config), ofFeatures.tools);
  const isOffered = ({ group }: { readonly group: ToolGroup | null }): boolean => isSwitchedOn(group, tools);
  return {
    tools,
    everyTool,
    resources: [...listRoomResources(options, tools), ...ofFeatures.resources].filter(isOffered),
    prompts: ofFeatures.prompts,
    extensions: [...ofFeatures.extensions, createViewsExtension()].filter(isOffered),
  };
}

/**
 * The same before any room is open, which can be listed and not be called: what a tool says of itself comes from the
 * settings and the surroundings, and only its handler needs rooms.
 */
export async function createClosedOffer(config: Config, surroundings: Surroundings | null): Promise<Offer> {
  const declared = await declareFeatures(features, config, { terms: toTerms(config), surroundings });
  const ofFeatures = joinOffers(declared.map((one) => bindFeature(one.declared, null)));
  const known: Record<PropertyKey, unknown> = {
    ...toToolTerms(config),
    surroundings,
    library: config.zoteroLibrary === null ? null : closedRoom,
    packages: config.packages ? closedRoom : null,
    crates: new Proxy(toCrateFacts(config), toClosedRoom),
  };
  return selectOffer(config, new Proxy(known, toClosedRoom) as unknown as ToolsOptions, ofFeatures);
}

/** What tools say of crates in their hints: the type asks for a new one here too. */
type CrateFacts = { readonly [Name in keyof Crates as Crates[Name] extends boolean ? Name : never]: boolean };

const toCrateFacts = (config: Config): CrateFacts => ({
  // It changes only what handlers answer.
  isForSeveral: false,
  hasRemoteSources: hasRemoteSources(config),
  usesEmbeddingsApi: config.semantics === 'endpoint',
});

const hasRemoteSources = (config: Config): boolean =>
  [getPackTargetKind(config), ...config.crateSources.map((url) => parseSourceAddress(url).kind)].some(
    (kind) => kind !== 'folder',
  );

/**
 * Stands for a room, and for whatever a tool takes of it before it is called. What a tool says of itself should not come
 * from a room; where it does, it is missing at first, and corrected later.
 */
const closedRoom: unknown = new Proxy(() => {}, {
  get(_, name) {
    if (name === 'toJSON') return () => undefined;
    return name === Symbol.toPrimitive ? () => '' : closedRoom;
  },
  apply() {
    throw new Error('A tool used a room that is not open yet.');
  },
});

/** What is known, and a closed room for the rest. */
const toClosedRoom: ProxyHandler<object> = {
  get: (known, name) => (name in known ? known[name as keyof typeof known] : closedRoom),
};
