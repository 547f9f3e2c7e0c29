/**
 * What a client is told about before the rooms behind it are open (decision 036). Calls and reads wait for them; what
 * turns out different then is announced. How tools, resources and prompts are made is not known here (`server/` is).
 */
import type { McpServer, RegisteredTool } from '@modelcontextprotocol/server';
import type { Extension } from '../../core/offer/extension.ts';
import type { Prompt } from '../../core/offer/prompt.ts';
import type { ResourceKind } from '../../core/offer/resource.ts';
import type { Tool, ToolContext } from '../../core/offer/tool.ts';

/** What a server offers. */
export interface Offer {
  readonly tools: readonly Tool[];
  readonly resources: readonly ResourceKind[];
  readonly prompts: readonly Prompt[];
  readonly extensions: readonly Extension[];
}

/** Waits until the rooms are open; whoever calls it needs them. */
type Open = () => Promise<Offer>;

/** The same offer, whose handlers wait until the rooms are open, and then are those of the same name. */
export const deferOffer = ({ tools, resources, prompts, extensions }: Offer, open: Open): Offer => ({
  tools: tools.map((tool) => deferTool(tool, open)),
  resources: resources.map((kind) => deferResources(kind, open)),
  prompts: prompts.map((prompt) => deferPrompt(prompt, open)),
  extensions: extensions.map((extension) => deferExtension(extension, open)),
});

const deferTool = (tool: Tool, open: Open): Tool => ({
  ...tool,
  async handle(input, context) {
    const { tools } = await awaitUnlessAborted(open(), context.signal);
    return findByName(tools, tool).handle(input, context);
  },
});

function deferResources(kind: ResourceKind, open: Open): ResourceKind {
  const find = async ({ signal }: ToolContext): Promise<ResourceKind> =>
    findByName((await awaitUnlessAborted(open(), signal)).resources, kind);
  return {
    ...kind,
    ...(kind.list && { list: async (page, context) => (await find(context)).list!(page, context) }),
    read: async (variables, context) => (await find(context)).read(variables, context),
    complete: async (variable, begun, context, known) =>
      (await find(context)).complete(variable, begun, context, known),
  };
}

const deferExtension = (extension: Extension, open: Open): Extension => ({
  ...extension,
  methods: extension.methods.map((method) => ({
    ...method,
    async handle(params, context) {
      const { extensions } = await awaitUnlessAborted(open(), context.signal);
      return findByName(findByName(extensions, extension).methods, method).handle(params, context);
    },
  })),
});

/** Its text needs no rooms, but for what a room adds to it. */
const deferPrompt = (prompt: Prompt, open: Open): Prompt => ({
  ...prompt,
  ...(prompt.addFacts && {
    async addFacts(context: ToolContext) {
      const { prompts } = await awaitUnlessAborted(open(), context.signal);
      return findByName(prompts, prompt).addFacts!(context);
    },
  }),
  arguments: prompt.arguments.map((argument) => ({
    ...argument,
    ...(argument.complete && {
      async complete(begun: string, context: ToolContext) {
        const { prompts } = await awaitUnlessAborted(open(), context.signal);
        return findByName(findByName(prompts, prompt).arguments, argument).complete!(begun, context);
      },
    }),
  })),
});

const findByName = <Named extends { readonly name: string }>(all: readonly Named[], { name }: Named): Named =>
  all.find((one) => one.name === name)!;

/** Rejects with the reason of the signal as soon as that fires. */
async function awaitUnlessAborted<Value>(awaited: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    return await Promise.race([awaited, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Corrects what a server says of its tools once they are there, and tells its client if that changed anything. */
export async function reviseTools(
  server: McpServer,
  registered: ReadonlyMap<string, RegisteredTool>,
  opened: Promise<Offer>,
): Promise<void> {
  const stale = (await opened).tools.filter((tool) => isListedStale(registered.get(tool.name), tool));
  for (const { name, description, annotations } of stale)
    Object.assign(registered.get(name)!, { description, annotations });
  if (stale.length > 0 && server.isConnected()) server.sendToolListChanged();
}

function isListedStale(listed: RegisteredTool | undefined, { description, annotations }: Tool): boolean {
  if (listed === undefined) return false;
  return (
    listed.description !== description || JSON.stringify(listed.annotations) !== JSON.stringify(annotations)
  );
}
