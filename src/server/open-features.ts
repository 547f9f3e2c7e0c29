/**
 * Loops over the list of features: asks each what it declares, opens each, and binds what it declares to what it opened.
 * It knows no feature by name.
 */
import type { Hono } from 'hono';
import type { ServerConfig as Config } from './settings.ts';
import type { SettingList } from '../platform/config/setting.ts';
import type { Core, Declared, Feature, Known, OpenFeature, Web } from '../core/feature.ts';
import { bindExtension, type Extension } from '../core/offer/extension.ts';
import { bindPrompt, type Prompt } from '../core/offer/prompt.ts';
import { bindResources, type ResourceKind } from '../core/offer/resource.ts';
import { bindTool, type Tool } from '../core/offer/tool.ts';

/** All that features offer to clients. */
export interface FeatureOffer {
  readonly tools: readonly Tool[];
  readonly resources: readonly ResourceKind[];
  readonly prompts: readonly Prompt[];
  readonly extensions: readonly Extension[];
}

/** A feature and what it declares with the settings of this server. */
export interface DeclaredFeature {
  readonly feature: Feature;
  readonly declared: Declared<unknown>;
}

/** What each feature declares. Nothing is opened. */
export const declareFeatures = (
  features: readonly Feature[],
  config: Config,
  known: Omit<Known<SettingList>, 'settings'>,
): Promise<DeclaredFeature[]> =>
  Promise.all(
    features.map(async (feature) => ({
      feature,
      declared: ((await feature.declare?.({ ...known, settings: pickSettings(feature, config) })) ??
        {}) as Declared<unknown>,
    })),
  );

/** A feature gets its own settings and no others. */
function pickSettings({ settings }: Feature, config: Config): Record<string, unknown> {
  const values = config as unknown as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.keys(settings).map((name) => [name, values[name]]));
}

/** What a feature declares, bound to the room that it works on. */
export function bindFeature(
  { tools = [], resources = [], prompts = [], extensions = [] }: Declared<unknown>,
  room: unknown,
): FeatureOffer {
  return {
    tools: tools.map((tool) => bindTool(tool, room)),
    resources: resources.map((kind) => bindResources(kind, room)),
    prompts: prompts.map((prompt) => bindPrompt(prompt, room)),
    extensions: extensions.map((extension) => bindExtension(extension, room)),
  };
}

export const joinOffers = (offers: readonly FeatureOffer[]): FeatureOffer => ({
  tools: offers.flatMap(({ tools }) => tools),
  resources: offers.flatMap(({ resources }) => resources),
  prompts: offers.flatMap(({ prompts }) => prompts),
  extensions: offers.flatMap(({ extensions }) => extensions),
});

/** Features that are open, with all that they offer together. */
export interface OpenFeatures extends AsyncDisposable {
  readonly offer: FeatureOffer;
  readonly sweeps: readonly (() => Promise<unknown>)[];
  listRoutes(web: Web): Hono[];
}

/** Opens features one after the other, in the order of their list. */
export async function openFeatures(
  declared: readonly DeclaredFeature[],
  core: Core,
  config: Config,
): Promise<OpenFeatures> {
  await using started = new AsyncDisposableStack();
  const opened: { readonly open: OpenFeature<unknown>; readonly offer: FeatureOffer }[] = [];
  for (const one of declared) {
    const open = await one.feature.open?.(core, pickSettings(one.feature, config));
    if (open === undefined) continue;
    started.defer(async () => open[Symbol.asyncDispose]?.());
    opened.push({ open, offer: bindFeature(one.declared, open.room) });
  }
  const all = started.move();
  return {
    offer: joinOffers(opened.map(({ offer }) => offer)),
    sweeps: opened.flatMap(({ open }) => (open.sweep === undefined ? [] : [() => open.sweep!()])),
    listRoutes: (web) => opened.flatMap(({ open }) => open.routes?.(web) ?? []),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
