/**
 * Loops over the list of features: asks each what it declares, opens each, and binds what it declares to what it opened.
 * It knows no feature by name.
 */
import type { Hono } from 'hono';
import type { ServerConfig as Config } from './settings.ts';
import type { SettingList } from '../platform/config/setting.ts';
import { settings as coreSettings } from '../platform/config/settings.ts';
import type {
  Brought,
  Core,
  Declared,
  Feature,
  Known,
  OpenFeature,
  TokenRoute,
  JudgeRooms,
  OpenJudge,
  Web,
} from '../core/feature.ts';
import type { ReferenceLibrary } from '../core/reference-library.ts';
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
  known: Omit<Known<Config>, 'settings'>,
): Promise<DeclaredFeature[]> =>
  Promise.all(
    features.map(async (feature) => ({
      feature,
      declared: (await feature.declare?.({ ...known, settings: pickSettings(feature, config) })) ?? {},
    })),
  );

/** A feature gets the settings of the core, its own, and those of features that it needs. */
function pickSettings(feature: Feature, config: Config): Config {
  const values = config as unknown as Readonly<Record<string, unknown>>;
  const lists = [
    coreSettings,
    feature.settings,
    ...Object.values(feature.needs ?? {}).map((needed) => needed.settings),
  ];
  const names = lists.flatMap((list) => Object.keys(list));
  return Object.fromEntries(names.map((name) => [name, values[name]])) as unknown as Config;
}

/** What each feature refuses of the settings, by its name. */
export const listChecks = (features: readonly Feature[]) =>
  features.map(
    (feature) => [feature.name, (config: Config) => feature.check?.(pickSettings(feature, config))] as const,
  );
/** The judge of calls and runs that the settings ask for; null where they ask for none. */
export async function openJudge(
  features: readonly Feature[],
  config: Config,
  rooms: JudgeRooms,
): Promise<OpenJudge | null> {
  const judging = findJudging(features, config);
  return judging === undefined ? null : judging.judge!.open(rooms, pickSettings(judging, config));
}

/** The feature that judges calls with these settings. */
export const findJudging = (features: readonly Feature[], config: Config): Feature | undefined =>
  features.find((feature) => feature.judge?.isWanted(pickSettings(feature, config)));

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

/** What documents cite from where no server runs: of the first feature that has it. */
export async function openLibrary(
  features: readonly Feature[],
  config: Config,
  around: Pick<Core, 'clock' | 'log'>,
): Promise<ReferenceLibrary | null> {
  for (const feature of features) {
    const library = await feature.openLibrary?.(pickSettings(feature, config), around);
    if (library) return library;
  }
  return null;
}

/** Features that are open, with all that they offer together. */
export interface OpenFeatures extends AsyncDisposable {
  readonly offer: FeatureOffer;
  readonly sweeps: readonly (() => Promise<unknown>)[];
  listRoutes(web: Web): Hono[];
  readonly tokenRoutes: Readonly<Record<string, TokenRoute>>;
  /** To be called once the server listens. */
  listening(): void;
  /** What tools of one work on. */
  roomOf<Room>(feature: Feature<SettingList, Room>): Room;
}

/** Opens features one after the other, in the order of their list. What they bring to the core is put into `brought`. */
export async function openFeatures(
  declared: readonly DeclaredFeature[],
  core: Core,
  config: Config,
  brought: Partial<Brought>,
): Promise<OpenFeatures> {
  await using started = new AsyncDisposableStack();
  const rooms = new Map<string, unknown>();
  const demandRoom = ({ name }: { readonly name: string }): unknown => {
    if (!rooms.has(name)) throw new Error(`The feature ${name} is not open: it has to be listed before.`);
    return rooms.get(name);
  };
  const opened: { readonly open: OpenFeature<unknown>; readonly offer: FeatureOffer }[] = [];
  for (const { feature, declared: told } of declared) {
    const needs = Object.entries(feature.needs ?? {});
    const needed = Object.fromEntries(needs.map(([name, other]) => [name, demandRoom(other)]));
    const open = await feature.open?.(core, pickSettings(feature, config), needed);
    if (open === undefined) continue;
    started.defer(async () => open[Symbol.asyncDispose]?.());
    rooms.set(feature.name, open.room);
    Object.assign(brought, open.brings);
    opened.push({ open, offer: bindFeature(told, open.room) });
  }
  const all = started.move();
  return {
    offer: joinOffers(opened.map(({ offer }) => offer)),
    sweeps: opened.flatMap(({ open }) => (open.sweep === undefined ? [] : [() => open.sweep!()])),
    tokenRoutes: Object.assign({}, ...opened.map(({ open }) => open.tokenRoutes)) as Record<
      string,
      TokenRoute
    >,
    listRoutes: (web) => opened.flatMap(({ open }) => open.routes?.(web) ?? []),
    listening: () => opened.forEach(({ open }) => open.listening?.()),
    roomOf: <Room>(feature: Feature<SettingList, Room>) => demandRoom(feature) as Room,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
