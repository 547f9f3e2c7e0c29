import { optionalText } from '../../platform/config/kinds.ts';
import { defineSetting } from '../../platform/config/setting.ts';
import { defineFeature } from '../../core/feature.ts';
import type { DiscoveryRoom } from './tools.ts';

export const toolSearch = defineFeature({
  name: 'tool-search',
  settings: {
    toolRoutes: defineSetting(
      optionalText,
      null,
      'JSON file with further groups of tools, and the words of a request that lead to them',
      { after: 'tools' },
    ),
  },
  async check({ toolRoutes }) {
    const { loadRoutes } = await import('./tool-search.ts');
    if (toolRoutes !== null) loadRoutes(toolRoutes);
  },
  declare: async () => ({ tools: (await import('./tools.ts')).discoveryTools }),
  async open({ toolbox }, { toolRoutes }): Promise<{ room: DiscoveryRoom }> {
    const { loadRoutes } = await import('./tool-search.ts');
    return { room: { toolbox, toolRoutes: loadRoutes(toolRoutes) } };
  },
});
