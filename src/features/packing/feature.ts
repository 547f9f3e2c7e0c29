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
    const { createKeptReader } = await import('../provenance/provenance.ts');
    const { readCallRecord } = await import('../code-mode/store.ts');
    const keptResults = createKeptReader(core);
    const readCalls = (id: string) => readCallRecord(core.database, id);
    return {
      room: {
        ...room,
        packing: openPacking(settings, {
          ...core,
          ...room,
          keptResults,
          readCalls,
          findSession: core.sessions.cells,
        }),
      },
    };
  },
});
