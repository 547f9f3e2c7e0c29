/**
 * The resources, prompts and completions of the servers behind the gateway. Each request goes to the server that the name
 * or the URI belongs to, on the connection of the caller.
 */
import type { CompleteRequestParams } from '@modelcontextprotocol/server';
import { WorkcrateError } from '../../platform/errors.ts';
import type { ToolContext } from '../../core/offer/tool.ts';
import type { Upstream } from '../../core/offer/upstream.ts';
import { checkBounded, renameUris } from './call.ts';
import type { OpenUpstream } from './connections.ts';
import { hideSecretsIn, type ServerEntry } from './entry.ts';
import { findByPrefix, readOfferedUri, toOfferedUri } from './names.ts';

export interface ServerContentsOptions {
  readonly entries: () => ReadonlyMap<string, ServerEntry>;
  readonly use: <T>(
    entry: ServerEntry,
    context: ToolContext,
    work: (upstream: OpenUpstream) => Promise<T>,
  ) => Promise<T>;
  /** Asks all servers that this caller may ask. */
  readonly gather: <T>(
    context: ToolContext,
    ask: (upstream: OpenUpstream) => Promise<readonly T[]>,
  ) => Promise<T[]>;
  /** Whether the caller may use anything of a server. */
  readonly mayReach: (entry: ServerEntry, context: ToolContext) => boolean;
}

type Contents = Pick<
  Upstream,
  'listResources' | 'listTemplates' | 'readResource' | 'listPrompts' | 'getPrompt' | 'complete'
>;

export function createContents({ entries, use, gather, mayReach }: ServerContentsOptions): Contents {
  const demand = (entry: ServerEntry | null | undefined, context: ToolContext, what: string): ServerEntry => {
    if (entry !== null && entry !== undefined && mayReach(entry, context)) return entry;
    throw new WorkcrateError('not_found', `There is no such ${what} for you behind the gateway.`);
  };
  /** The server of a URI, and the URI there. */
  const findUri = (uri: string, context: ToolContext) => {
    const read = readOfferedUri(uri);
    return { entry: demand(read && entries().get(read.server), context, 'resource'), uri: read?.uri ?? '' };
  };
  const findPromptServer = (name: string, context: ToolContext): ServerEntry =>
    demand(findByPrefix(entries().values(), name), context, 'prompt');
  /** Asks the one server, and passes on what can be shown of the answer. */
  const ask = <T>(
    entry: ServerEntry,
    context: ToolContext,
    send: (upstream: OpenUpstream, terms: { signal: AbortSignal; timeout: number }) => Promise<T>,
  ): Promise<T> =>
    use(entry, context, async (upstream) => {
      try {
        const result = await send(upstream, { signal: context.signal, timeout: entry.timeoutMs });
        checkBounded(entry, result);
        return hideSecretsIn(entry, result);
      } catch (error) {
        throw upstream.connection.explain(error);
      }
    });
  const findNameThere = async ({ catalog }: OpenUpstream, name: string): Promise<string> => {
    const prompt = (await catalog.prompts()).get(name);
    if (prompt !== undefined) return prompt.name;
    throw new WorkcrateError(
      'invalid_input',
      'There is no such prompt behind the gateway. See prompts/list.',
    );
  };

  return {
    listResources: (context) => gather(context, ({ catalog }) => catalog.resources()),
    listTemplates: (context) => gather(context, ({ catalog }) => catalog.templates()),
    listPrompts: (context) =>
      gather(context, async ({ entry, catalog }) =>
        [...(await catalog.prompts())]
          .filter(([name]) => findByPrefix(entries().values(), name) === entry)
          .map(([name, prompt]) => ({ ...prompt, name })),
      ),
    async readResource(given, context) {
      const { entry, uri } = findUri(given, context);
      const { contents } = await ask(entry, context, ({ connection }, terms) =>
        connection.client.readResource({ uri }, { ...terms, cacheMode: 'bypass' }),
      );
      return { contents: contents.map((one) => ({ ...one, uri: toOfferedUri(entry.name, one.uri) })) };
    },
    async getPrompt(name, given, context) {
      const entry = findPromptServer(name, context);
      const { description, messages } = await ask(entry, context, async (upstream, terms) =>
        upstream.connection.client.getPrompt(
          { name: await findNameThere(upstream, name), arguments: { ...given } },
          terms,
        ),
      );
      return {
        ...(description === undefined ? {} : { description }),
        messages: messages.map((message) => ({ ...message, content: renameUris(entry, message.content) })),
      };
    },
    async complete({ ref, argument, context: chosen }, context) {
      const further = chosen === undefined ? {} : { context: chosen };
      const entry =
        ref.type === 'ref/prompt' ? findPromptServer(ref.name, context) : findUri(ref.uri, context).entry;
      const { completion } = await ask(entry, context, async (upstream, terms) =>
        upstream.connection.client.complete(
          { ref: await toRefThere(upstream, ref), argument, ...further },
          terms,
        ),
      );
      return { completion };
    },
  };

  async function toRefThere(
    upstream: OpenUpstream,
    ref: CompleteRequestParams['ref'],
  ): Promise<CompleteRequestParams['ref']> {
    if (ref.type === 'ref/resource') return { ...ref, uri: readOfferedUri(ref.uri)?.uri ?? ref.uri };
    return { ...ref, name: await findNameThere(upstream, ref.name) };
  }
}
