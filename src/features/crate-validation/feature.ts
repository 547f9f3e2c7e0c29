import { defineFeature, type OpenFeature } from '../../core/feature.ts';
import { crates, readCrateTerms } from '../crates/feature.ts';
import type { ValidationRoom } from './tools.ts';

export const crateValidation = defineFeature({
  name: 'crate-validation',
  settings: {},
  needs: { crates },

  async declare({ settings }) {
    const { declareValidationTools } = await import('./tools.ts');
    return { tools: declareValidationTools(await readCrateTerms(settings)) };
  },

  async open({ log }, { maxMetadata }, { crates: room }): Promise<OpenFeature<ValidationRoom>> {
    const { createCrateValidation } = await import('./crate-validation.ts');
    const sources = room.sources.named;
    const validation = createCrateValidation({ crates: room.crates, sources, maxMetadata, log });
    return {
      room: { crates: room.crates, validation },
      [Symbol.asyncDispose]: () => validation[Symbol.asyncDispose](),
    };
  },
});
