/**
 * The tools, resources and prompts that the settings ask for. They are declared without rooms, so that a client can be told
 * of them before anything is open, and bound to rooms once these are open. `tools.ts` has those of the core.
 */
import type { ServerConfig as Config } from './settings.ts';
import { WorkcrateError } from '../platform/errors.ts';
import type { OutputBounds } from '../core/runs/executions.ts';
import type { Surroundings } from '../core/runs/surroundings.ts';
import { localCaller } from '../core/identity.ts';
import type { Declared, Terms } from '../core/feature.ts';
import type { Offer } from '../surfaces/mcp/late-offer.ts';
import type { Tool, ToolGroup } from '../core/offer/tool.ts';
import { describeTools } from './instructions.ts';
import { features } from './features.ts';
import {
  bindFeature,
  declareFeatures,
  joinOffers,
  type DeclaredFeature,
  type FeatureOffer,
} from './open-features.ts';
import { chooseGroups, declareCore, sortByGroup, type CoreRoom } from './tools.ts';
import { runRecord } from './run-record.ts';

/** What every feature is told of the settings of the core. */
export const toTerms = (config: Config): Terms => ({
  record: runRecord,
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

/** Of which groups tools are offered, and whether operators can be told from others. */
export const readToolGroups = ({ tools: groups, auth }: Config) => ({
  groups,
  knowsOperators: auth.length > 0,
});

/** What core and features declare with these settings. */
export interface DeclaredOffer {
  readonly core: Declared<CoreRoom>;
  readonly features: readonly DeclaredFeature[];
}

export async function declareOffer(
  config: Config,
  surroundings: Surroundings | null,
): Promise<DeclaredOffer> {
  const terms = toTerms(config);
  const hasHostList = config.sandboxNetwork.startsWith('allow:');
  return {
    core: declareCore({ ...terms, surroundings, hasHostList, mayInstall: config.packages }),
    features: await declareFeatures(features, config, { terms, surroundings }),
  };
}

/** What is offered of the groups that are switched on, and all tools, for whoever calls those that are not listed. */
export function selectOffer(
  config: Config,
  { tools: all, resources, prompts, extensions }: FeatureOffer,
): Offer & { readonly everyTool: readonly Tool[] } {
  const wanted = chooseGroups(readToolGroups(config));
  const everyTool = sortByGroup(all);
  const tools = everyTool.filter((tool) => wanted.has(tool.group));
  /** What belongs to no group is always there. */
  const isOffered = ({ group }: { readonly group: ToolGroup | null }): boolean =>
    group === null || tools.some((tool) => tool.group === group);
  return {
    tools,
    everyTool,
    resources: resources.filter(isOffered),
    prompts,
    extensions: extensions.filter(isOffered),
  };
}

/** The same before any room is open, which can be listed and not be called. */
export async function createClosedOffer(config: Config, surroundings: Surroundings | null): Promise<Offer> {
  const { core, features: declared } = await declareOffer(config, surroundings);
  const closed = [core, ...declared.map((one) => one.declared)].map((one) =>
    bindFeature(one as Declared<unknown>, null),
  );
  return selectOffer(config, joinOffers(closed));
}
