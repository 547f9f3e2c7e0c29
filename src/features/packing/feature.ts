import { defineFeature } from '../../core/feature.ts';
import { crates, readCrateTerms } from '../crates/feature.ts';
import type { PackingRoom } from './tools.ts';

export const packing = defineFeature({
  name: 'packing',
  settings: {},
  needs: { crates },

  async declare({ settings }) {
    const { declarePackTools } = await import('./tools.ts');
    return { tools: declarePackTools(await readCrateTerms(settings)) };
  },

  async open(core, settings, { crates: room }): Promise<{ room: PackingRoom }> {
    const { openPacking } = await import('./packing.ts');
    return {
      room: {
        ...room,
        packing: openPacking(settings, { ...core, ...room, findSession: core.sessions.cells }),
      },
    };
  },
});
