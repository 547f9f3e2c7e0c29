/** Answers the methods of extensions of the protocol, in every version of MCP. What an extension is: `core/offer/extension.ts`. */
import type { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Extension } from '../../core/offer/extension.ts';
import type { AnswerCounted } from './answered-requests.ts';
import { createNoScopeError } from './refused-calls.ts';

const maxSubscribedUriLength = 16_384;
const paramsSchema = z.looseObject({
  uri: z.string().max(maxSubscribedUriLength).optional(),
  cursor: z.string().max(maxSubscribedUriLength).optional(),
});

/** How long clients may keep the answers, from 2026-07-28 on: what a folder holds may change at any moment. */
const cacheTerms = { ttlMs: 0, cacheScope: 'private' } as const;

const maxShownSubject = 200;

/** Declares extensions on a server and answers their methods. */
export function offerExtensions(
  { server }: McpServer,
  extensions: readonly Extension[],
  { answer, isModern }: { readonly answer: AnswerCounted; readonly isModern: boolean },
): void {
  for (const { name, settings, group, methods } of extensions) {
    server.registerCapabilities({ extensions: { [name]: { ...settings } } });
    for (const method of methods)
      server.setRequestHandler(method.name, { params: paramsSchema }, (params, context) => {
        const subject = params.uri?.slice(0, maxShownSubject) ?? null;
        return answer({ method: method.name, subject }, context, async (toolContext) => {
          if (group !== null && !toolContext.mayUse(group)) throw createNoScopeError(group);
          const result = await method.handle(params, toolContext);
          return isModern ? { ...result, ...cacheTerms } : result;
        });
      });
  }
}
