import { defineFeature } from '../../core/feature.ts';
import type { PromptsRoom } from './prompts.ts';

export const prompts = defineFeature({
  name: 'prompts',
  settings: {},
  declare: async () => ({ prompts: (await import('./prompts.ts')).declaredPrompts }),
  open: async ({ artifacts, files, executions, offersGroup }): Promise<{ room: PromptsRoom }> => ({
    room: { artifacts, files, executions, offersGroup },
  }),
});
