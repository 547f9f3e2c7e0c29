/** References from a Zotero library, as a feature in a package of its own: tools, and what documents cite from. */
import { defineFeature, type Core, type OpenFeature, type SettingsOf } from 'workcrate/feature';
import { zoteroSettings } from './settings.ts';
import type { LibraryRoom } from './tools.ts';
import type { ZoteroLibrary } from './library.ts';

type Settings = SettingsOf<typeof zoteroSettings>;
type Around = Pick<Core, 'clock' | 'log'>;

/** Null where the settings name none. No request is sent before the first call. */
async function openLibrary(settings: Settings, around: Around): Promise<ZoteroLibrary | null> {
  const { zoteroLibrary: library, zoteroUrl: url, zoteroKey: key } = settings;
  if (library === null) return null;
  const { openZotero } = await import('./zotero.ts');
  return openZotero({ url, library, key, ...around });
}

export default defineFeature({
  name: 'zotero',
  settings: zoteroSettings,

  async check({ zoteroLibrary: library, zoteroUrl: url, zoteroKey: key }) {
    const { toZoteroAddress } = await import('./library.ts');
    if (library !== null) toZoteroAddress({ url, library, key });
  },

  async declare({ settings: { zoteroLibrary } }) {
    if (zoteroLibrary === null) return {};
    const { libraryTools } = await import('./tools.ts');
    return { tools: libraryTools };
  },

  openLibrary,

  async open({ files, links, baseUrl, clock, log }, settings): Promise<OpenFeature<LibraryRoom>> {
    const library = await openLibrary(settings, { clock, log });
    const { fileTtl, maxTtl } = settings;
    return {
      room: { library, files, links, baseUrl, fileTtl, maxTtl },
      ...(library === null ? {} : { brings: { library } }),
    };
  },
});
