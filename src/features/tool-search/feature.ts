import { settings } from '../../platform/config/settings.ts';
import { defineFeature } from '../../core/feature.ts';
import type { DiscoveryRoom } from './tools.ts';

export const toolSearch = defineFeature({
  name: 'tool-search',
  settings: { toolRoutes: settings.toolRoutes },
  declare: async () => ({ tools: (await import('./tools.ts')).discoveryTools }),
  async open({ toolbox }, { toolRoutes }): Promise<{ room: DiscoveryRoom }> {
    const { loadRoutes } = await import('./tool-search.ts');
    return { room: { toolbox, toolRoutes: loadRoutes(toolRoutes) } };
  },
});
