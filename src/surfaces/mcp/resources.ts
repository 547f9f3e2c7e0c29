/**
 * Offers resources, prompts and completions on a server, in every version of the protocol. It asks each kind for its
 * own, and shows a caller only what the scopes of the key allow. What there is, is listed in `server/resources.ts`.
 */
import type { CompleteRequestParams, McpServer, ServerContext } from '@modelcontextprotocol/server';
import { WorkcrateError } from '../../platform/errors.ts';
import { createRequestRecorder, type AnsweringOptions } from './answered-requests.ts';
import type { Prompt, PromptArgument } from '../../core/offer/prompt.ts';
import { listResources } from './resource-list.ts';
import { readResourceUri, type ResourceKind, type UriVariables } from '../../core/offer/resource.ts';
import type { Tool, ToolContext } from '../../core/offer/tool.ts';
import { upstreamGroup, type Upstream } from '../../core/offer/upstream.ts';

export interface ResourcesOptions extends AnsweringOptions {
  readonly resources?: readonly ResourceKind[];
  readonly prompts?: readonly Prompt[];
  readonly tools: readonly Pick<Tool, 'name' | 'group'>[];
  /** What servers behind this one offer besides. */
  readonly upstream?: Upstream | undefined;
}

const staticMs = 300_000;
const isPrivate = { cacheScope: 'private' } as const;

/**
 * How long clients may keep answers, from 2026-07-28 on. Templates and prompts stay while the server runs, but differ by
 * key. What users have may change at any moment, so that is asked for anew each time, as the SDK says by default.
 */
export const resourceCacheHints = {
  'prompts/list': { ttlMs: staticMs, ...isPrivate },
  'resources/templates/list': { ttlMs: staticMs, ...isPrivate },
} as const;

/** Of our own nothing is announced: what a user has changes all the time. */
const toOfferedCapabilities = ({ upstream }: ResourcesOptions) => ({
  resources: { listChanged: upstream !== undefined, subscribe: false },
  prompts: { listChanged: upstream !== undefined },
  completions: {},
});

export function offerResources({ server }: McpServer, options: ResourcesOptions): void {
  server.registerCapabilities(toOfferedCapabilities(options));
  const answer = createRequestRecorder(options);
  const { toContext } = options;
  /** Our own of these are words of ours. Those of other servers are answers like any other. */
  async function listFurther<T>(
    method: string,
    context: ServerContext,
    list: (upstream: Upstream, about: ToolContext) => Promise<readonly T[]>,
  ): Promise<readonly T[]> {
    const upstream = getUpstream(options, toContext(context));
    if (upstream === null) return [];
    return answer({ method, subject: null, isRoutine: true }, context, (about) => list(upstream, about));
  }

  server.setRequestHandler('resources/list', ({ params }, context) =>
    answer({ method: 'resources/list', subject: null }, context, (about) =>
      listAllResources(options, params?.cursor, about),
    ),
  );
  server.setRequestHandler('resources/templates/list', async (_request, context: ServerContext) => {
    const own = listAllowedKinds(options, toContext(context)).map(
      ({ name, title, description, template: uriTemplate }) => ({ name, title, description, uriTemplate }),
    );
    const further = await listFurther('resources/templates/list', context, (upstream, about) =>
      upstream.listTemplates(about),
    );
    return { resourceTemplates: [...own, ...further] };
  });
  server.setRequestHandler('resources/read', ({ params: { uri } }, context) =>
    answer({ method: 'resources/read', subject: uri }, context, async (about) => {
      if (options.upstream?.owns(uri) === true) {
        checkScope({ group: upstreamGroup }, about);
        return options.upstream.readResource(uri, about);
      }
      const { kind, variables } = findResource(options, uri);
      checkScope(kind, about);
      return { contents: [{ uri, ...(await kind.read(variables, about)) }] };
    }),
  );
  server.setRequestHandler('prompts/list', async (_request, context: ServerContext) => {
    const further = await listFurther('prompts/list', context, (upstream, about) =>
      upstream.listPrompts(about),
    );
    return {
      prompts: [...listAllowedPrompts(options, toContext(context)).map(toListedPrompt), ...further],
    };
  });
  server.setRequestHandler('prompts/get', ({ params: { name, arguments: given = {} } }, context) =>
    answer({ method: 'prompts/get', subject: name }, context, async (about) => {
      const upstream = isOwnPrompt(options, name) ? null : getUpstream(options, about);
      if (upstream?.owns(name) === true) return upstream.getPrompt(name, given, about);
      const prompt = findPrompt(options, name, about);
      const written = prompt.write(checkArguments(prompt, given), (tool) => hasTool(options, tool, about));
      const text = prompt.addFacts ? `${written}\n\n${await prompt.addFacts(about)}` : written;
      return {
        description: prompt.description,
        messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }],
      };
    }),
  );
  server.setRequestHandler('completion/complete', ({ params }, context) => {
    const subject = params.ref.type === 'ref/prompt' ? params.ref.name : params.ref.uri;
    return answer({ method: 'completion/complete', subject }, context, async (about) => {
      const upstream = isOwnPrompt(options, subject) ? null : getUpstream(options, about);
      if (upstream?.owns(subject) === true) return upstream.complete(params, about);
      return toCompletion(await completeArgument(options, params, about));
    });
  });
}

/** What servers behind this one offer, for a caller who may use it. */
const getUpstream = ({ upstream }: ResourcesOptions, { mayUse }: ToolContext): Upstream | null =>
  upstream !== undefined && mayUse(upstreamGroup) ? upstream : null;

const isOwnPrompt = ({ prompts = [] }: ResourcesOptions, name: string): boolean =>
  prompts.some((prompt) => prompt.name === name);

/** All of other servers are on the first page: they are bounded there. */
async function listAllResources(options: ResourcesOptions, cursor: string | undefined, about: ToolContext) {
  const own = await listResources(listAllowedKinds(options, about), cursor, about);
  const upstream = cursor === undefined ? getUpstream(options, about) : null;
  return upstream === null
    ? own
    : { ...own, resources: [...own.resources, ...(await upstream.listResources(about))] };
}

const listAllowedKinds = (
  { resources = [] }: ResourcesOptions,
  { mayUse, client }: ToolContext,
): ResourceKind[] =>
  resources.filter(({ group, isFor }) => (group === null || mayUse(group)) && (isFor?.(client) ?? true));

function findResource(
  { resources = [] }: ResourcesOptions,
  uri: string,
): { kind: ResourceKind; variables: UriVariables } {
  for (const kind of resources) {
    const variables = readResourceUri(kind.template, uri);
    if (variables !== null) return { kind, variables };
  }
  // Those for some clients alone would only confuse the others.
  const forAll = resources.filter(({ isFor }) => isFor === undefined);
  const templates = forAll.map(({ template }) => template).join(', ') || 'none';
  throw new WorkcrateError(
    'not_found',
    `There is no resource with this URI. Forms of URIs here: ${templates}.`,
  );
}

function checkScope({ group }: Pick<ResourceKind, 'group'>, { mayUse }: ToolContext): void {
  if (group === null || mayUse(group)) return;
  throw new WorkcrateError(
    'forbidden',
    `This key or token does not have the scope ${group}, which this resource needs. Ask the operator for a key with it.`,
    { details: { scope: group } },
  );
}

function hasTool({ tools }: ResourcesOptions, name: string, { mayUse }: ToolContext): boolean {
  const tool = tools.find((one) => one.name === name);
  return tool !== undefined && mayUse(tool.group);
}

const listAllowedPrompts = (options: ResourcesOptions, context: ToolContext): Prompt[] =>
  (options.prompts ?? []).filter(({ needs }) => needs.every((tool) => hasTool(options, tool, context)));

function findPrompt(options: ResourcesOptions, name: string, context: ToolContext): Prompt {
  const allowed = listAllowedPrompts(options, context);
  const prompt = allowed.find((one) => one.name === name);
  if (prompt !== undefined) return prompt;
  const names = allowed.map((one) => one.name).join(', ') || 'none';
  throw new WorkcrateError('invalid_input', `There is no such prompt for you here. There are: ${names}.`);
}

const toListedPrompt = ({ name, title, description, arguments: taken }: Prompt) => ({
  name,
  title,
  description,
  arguments: taken.map(toListedArgument),
});

const toListedArgument = ({ name, description, required }: PromptArgument) => ({
  name,
  description,
  required,
});

/** A prompt is a text for people to start with, not a way to send data. */
const maxArgumentLength = 10_000;

/** What was left empty counts as left out: clients send the empty fields of a form. */
function checkArguments({ name, arguments: taken }: Prompt, given: Readonly<Record<string, string>>) {
  const unknown = Object.keys(given).find((key) => taken.every((one) => one.name !== key));
  if (unknown !== undefined) {
    const names = taken.map((one) => one.name).join(', ') || 'none';
    throw new WorkcrateError(
      'invalid_input',
      `The prompt ${name} has no argument ${JSON.stringify(unknown.slice(0, 100))}. It takes: ${names}.`,
    );
  }
  const filled = Object.entries(given).filter(([, value]) => value.trim() !== '');
  if (filled.some(([, value]) => value.length > maxArgumentLength))
    throw new WorkcrateError('invalid_input', `An argument takes at most ${maxArgumentLength} characters.`);
  const values: Readonly<Record<string, string>> = Object.fromEntries(filled);
  const missing = taken.find((one) => one.required && values[one.name] === undefined);
  if (missing !== undefined)
    throw new WorkcrateError(
      'invalid_input',
      `The prompt ${name} needs ${missing.name}: ${missing.description}.`,
    );
  return values;
}

const maxBegunLength = 4096;

async function completeArgument(
  options: ResourcesOptions,
  { ref, argument, context: chosen }: CompleteRequestParams,
  context: ToolContext,
): Promise<readonly string[]> {
  const { name, value: begun } = argument;
  if (begun.length > maxBegunLength) return [];
  if (ref.type === 'ref/prompt') {
    const prompt = findPrompt(options, ref.name, context);
    const completed = prompt.arguments.find((one) => one.name === name);
    return (await completed?.complete?.(begun, context)) ?? [];
  }
  const kind = (options.resources ?? []).find(({ template }) => template === ref.uri);
  if (kind === undefined)
    throw new WorkcrateError(
      'invalid_input',
      'There is no such template. resources/templates/list shows them.',
    );
  checkScope(kind, context);
  return kind.complete(name, begun, context, chosen?.arguments ?? {});
}

/** The most that the protocol allows. */
const maxCompletions = 100;

const toCompletion = (found: readonly string[]) => {
  const values = [...new Set(found)];
  return {
    completion: {
      values: values.slice(0, maxCompletions),
      total: values.length,
      hasMore: values.length > maxCompletions,
    },
  };
};
