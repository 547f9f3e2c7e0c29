import { defineFeature, type OpenFeature } from '../../core/feature.ts';
import { clientFileSettings } from './settings.ts';
import type { ClientFilesRoom } from './tools.ts';

export const clientFiles = defineFeature({
  name: 'client-files',
  settings: clientFileSettings,

  async check(settings) {
    const { checkClientPaths } = await import('./open.ts');
    checkClientPaths(settings);
  },

  async declare({ settings: { clientPaths, clientListPaths } }) {
    const { declareClientTools } = await import('./tools.ts');
    const listable = clientListPaths.length === 0 ? clientPaths : clientListPaths;
    return { tools: declareClientTools({ readable: clientPaths, listable }) };
  },

  async open(core, settings): Promise<OpenFeature<ClientFilesRoom>> {
    const { createClientFilePort, openClientBridge } = await import('./open.ts');
    const { createAskRoute } = await import('./page.ts');
    const { createLargeAnswers } = await import('./tools/read.ts');
    const { files, audit, clock } = core;
    const { bridge, cache } = openClientBridge(core, settings);
    const { policyFor, forgetKept } = bridge;
    return {
      room: {
        bridge,
        cache,
        audit,
        policyFor,
        forgetKept,
        clock,
        large: createLargeAnswers({ ...core, ...core.terms }),
      },
      brings: { clientFiles: createClientFilePort(bridge, files, settings.clientCache) },
      tokenRoutes: { ask: { auditedAs: 'upload_page', handle: createAskRoute(bridge) } },
      [Symbol.asyncDispose]: async () => bridge[Symbol.dispose](),
    };
  },
});
