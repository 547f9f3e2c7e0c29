import { defineFeature, type OpenFeature } from '../../core/feature.ts';
import { documentSettings } from './settings.ts';
import type { DocumentsRoom } from './tools.ts';

export const documents = defineFeature({
  name: 'documents',
  settings: documentSettings,

  async check(settings) {
    const { demandDocumentSettings } = await import('./open.ts');
    demandDocumentSettings(settings);
  },

  async declare({ terms: { fileTtl, maxTtl } }) {
    const { declareDocumentTools } = await import('./tools.ts');
    return { tools: declareDocumentTools({ fileTtl, maxTtl }) };
  },

  /** No process starts before the first document. */
  async open(core, settings): Promise<OpenFeature<DocumentsRoom>> {
    const { meterDocuments, openDocuments } = await import('./open.ts');
    const { artifacts, files, links, exported, baseUrl, library, metrics, log } = core;
    const builder = openDocuments({ config: settings, library, log });
    const { fileTtl, maxTtl } = settings;
    const documents = meterDocuments(builder, metrics, log);
    return {
      room: { documents, artifacts, files, links, exported, fileTtl, maxTtl, baseUrl },
      [Symbol.asyncDispose]: () => builder[Symbol.asyncDispose](),
    };
  },
});
