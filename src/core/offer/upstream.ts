/**
 * What is offered besides our own tools, resources and prompts, by servers behind this one: the seam between `surfaces/mcp/`, which
 * answers clients, and `features/gateway/`, which asks those servers. It imports neither.
 */
import type {
  CompleteRequestParams,
  CompleteResult,
  GetPromptResult,
  Prompt as ListedPrompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
  Tool as ListedTool,
} from '@modelcontextprotocol/server';
import type { Tool, ToolContext, ToolGroup } from './tool.ts';

/** A caller needs the scope of this group for all that is behind this server. */
export const upstreamGroup = 'gateway' satisfies ToolGroup;

export interface Upstream {
  /** Whether a name or a URI belongs to something behind this server. Nobody is asked for that. */
  owns(nameOrUri: string): boolean;
  listTools(context: ToolContext): Promise<readonly ListedTool[]>;
  /** The tool of this name, to be called like one of our own; null where there is none for this caller. */
  findTool(name: string, context: ToolContext): Promise<Tool | null>;
  listResources(context: ToolContext): Promise<readonly Resource[]>;
  listTemplates(context: ToolContext): Promise<readonly ResourceTemplateType[]>;
  readResource(uri: string, context: ToolContext): Promise<ReadResourceResult>;
  listPrompts(context: ToolContext): Promise<readonly ListedPrompt[]>;
  getPrompt(
    name: string,
    given: Readonly<Record<string, string>>,
    context: ToolContext,
  ): Promise<GetPromptResult>;
  complete(params: CompleteRequestParams, context: ToolContext): Promise<CompleteResult>;
  /** Calls the listener whenever what is offered to this user may have changed; to anybody for null. */
  onChange(user: string | null, listener: (kind: ChangedList) => void): Disposable;
}

export type ChangedList = 'tools' | 'prompts' | 'resources';

/** One that is not there yet, as before the rooms are open (decision 036). */
export function deferUpstream(opened: Promise<Upstream | null>): Upstream {
  // Whoever waits for it hears why there is none.
  opened.catch(() => {});
  let there: Upstream | null = null;
  void opened.then(
    (upstream) => (there = upstream),
    () => {},
  );
  const demand = async (): Promise<Upstream> => (await opened)!;
  return {
    owns: (name) => there?.owns(name) ?? false,
    listTools: async (context) => (await demand()).listTools(context),
    findTool: async (name, context) => (await demand()).findTool(name, context),
    listResources: async (context) => (await demand()).listResources(context),
    listTemplates: async (context) => (await demand()).listTemplates(context),
    readResource: async (uri, context) => (await demand()).readResource(uri, context),
    listPrompts: async (context) => (await demand()).listPrompts(context),
    getPrompt: async (name, given, context) => (await demand()).getPrompt(name, given, context),
    complete: async (params, context) => (await demand()).complete(params, context),
    onChange(user, listener) {
      const subscribed = new DisposableStack();
      void opened.then(
        (upstream) => subscribed.disposed || subscribed.use(upstream!.onChange(user, listener)),
        () => {},
      );
      return subscribed;
    },
  };
}
