import { defineFeature, type OpenFeature } from '../../core/feature.ts';
import { crates, readCrateTerms } from '../crates/feature.ts';
import type { ViewsRoom } from './tools.ts';

export const apps = defineFeature({
  name: 'apps',
  settings: {},
  needs: { crates },

  async declare({ settings }) {
    const { declareViewTools } = await import('./tools.ts');
    const { viewResources, viewsDeclaration } = await import('./apps.ts');
    return {
      tools: declareViewTools(await readCrateTerms(settings)),
      resources: [viewResources],
      extensions: [viewsDeclaration],
    };
  },

  async open({ artifacts, files, uploads, audit, log }, _settings, needed): Promise<OpenFeature<ViewsRoom>> {
    const { createTableReader } = await import('./table-reader.ts');
    const { auditUploads } = await import('../../core/audit/transfers.ts');
    const tables = createTableReader({ log });
    const { crates: index } = needed.crates;
    return {
      room: { artifacts, files, crates: index, viewUploads: auditUploads(uploads, audit), tables },
      [Symbol.asyncDispose]: () => tables[Symbol.asyncDispose](),
    };
  },
});
