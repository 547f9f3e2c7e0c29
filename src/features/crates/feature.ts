import { defineFeature, type OpenFeature, type SettingsOf } from '../../core/feature.ts';
import type { CrateSources } from './open.ts';
import { crateSettings } from './settings.ts';
import type { CratesRoom, CrateTerms } from './tools/room.ts';

export type { CratesRoom, CrateTerms } from './tools/room.ts';

/** What features that need this one work with. */
export interface OpenCratesRoom extends CratesRoom {
  readonly sources: CrateSources;
}

/** What the tools of crates say of the settings. */
export async function readCrateTerms(settings: SettingsOf<typeof crateSettings>): Promise<CrateTerms> {
  const { hasRemoteSources } = await import('./pack-target.ts');
  const { fileTtl, maxTtl, semantics } = settings;
  return {
    hasRemoteSources: hasRemoteSources(settings),
    usesEmbeddingsApi: semantics === 'endpoint',
    fileTtl,
    maxTtl,
  };
}

export const crates = defineFeature({
  name: 'crates',
  settings: crateSettings,

  async check(settings) {
    const { demandCrateSettings } = await import('./open.ts');
    demandCrateSettings(settings);
  },

  async declare({ settings }) {
    const { declareCrateTools } = await import('./tools.ts');
    const { crateResources } = await import('./resources.ts');
    return { tools: declareCrateTools(await readCrateTerms(settings)), resources: crateResources };
  },

  async open(core, settings): Promise<OpenFeature<OpenCratesRoom>> {
    const { createExternalCrateTargets } = await import('./crates.ts');
    const { meterCrates, openCrates, openCrateSources, removeCutOffPackings, watchCrates } =
      await import('./open.ts');
    const { warnOfLocalPacks } = await import('./pack-target.ts');
    const { files, links, baseUrl, metrics, log } = core;
    await using opened = new AsyncDisposableStack();
    const sources = opened.use(await openCrateSources(settings));
    warnOfLocalPacks(settings, log);
    const cutOff = removeCutOffPackings(settings);
    if (cutOff > 0) log.info('start.cut_off_packings_removed', { count: cutOff });
    const unmetered = opened.use(openCrates({ config: settings, sources, files, links, log }));
    const room = meterCrates(unmetered, metrics);
    const all = opened.move();
    return {
      room: { crates: room, sources, fileTtl: settings.fileTtl, maxTtl: settings.maxTtl, baseUrl },
      brings: {
        externalTargets: createExternalCrateTargets(sources.find),
        crateFiles: ({ caller, signal }, wanted) => room.inside.inputs(caller, wanted, signal),
      },
      listening: () => void all.use(watchCrates(room, { config: settings, log })),
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    };
  },
});
