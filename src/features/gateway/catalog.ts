/**
 * What one connection offers, under the names that it has here: tools with an accepted definition, prompts, resources.
 * What is left out is kept with the reason. It asks no server twice, until the server says that something changed.
 */
import type { Prompt, Resource, ResourceTemplateType, Tool } from '@modelcontextprotocol/client';
import { hashDefinition, type ToolDefinition } from '../../core/offer/toolbox.ts';
import { quoteShort } from '../../platform/text/text.ts';
import { definitionBounds, exceedsBounds, resultBounds } from './bounds.ts';
import type { Connection, ListKind } from './connection.ts';
import { hideSecretsIn, type ServerEntry } from './entry.ts';
import { toOfferedName, toOfferedUri } from './names.ts';
import type { Pins, SeenDefinition } from './pins.ts';

/** A tool of a server, as it is offered here. */
export interface GatewayTool extends ToolDefinition {
  /** Whether what it takes and gives has to be judged. */
  readonly sensitive: boolean;
}

export interface ToolCatalog {
  /** By the name here. */
  readonly tools: ReadonlyMap<string, GatewayTool>;
  /** By the name here: why it cannot be called now. */
  readonly held: ReadonlySet<string>;
  /** What is not offered, and why, in words. */
  readonly refused: readonly string[];
}

export interface Catalog {
  tools(): Promise<ToolCatalog>;
  /** Looks again whether what was held back has been accepted. */
  recheckTools(): Promise<ToolCatalog>;
  prompts(): Promise<ReadonlyMap<string, Prompt>>;
  resources(): Promise<readonly Resource[]>;
  templates(): Promise<readonly ResourceTemplateType[]>;
  forget(kind: ListKind): void;
  /** Holds every further change back: a tool is called by what was said of it. */
  settle(): void;
}

export interface CatalogOptions {
  readonly entry: ServerEntry;
  readonly connection: Connection;
  readonly pins: Pins;
  /** Whether a name belongs to a tool of our own, or to another server. */
  readonly isTaken: (name: string) => string | null;
  /** Told of tools whose definition has changed. */
  readonly held: (tools: readonly SeenDefinition[]) => void;
}

const maxTools = 2000;
const maxServerTools = 1000;
const maxServerToolBytes = 256 * 1024;
const maxNameThere = 256;

/** Some servers answer before they know all, and correct what they said; ours does, over stdio. */
const catalogSettleMs = 30_000;

export function createCatalog(options: CatalogOptions): Catalog {
  const { entry, connection } = options;
  /** Until then what was first seen on this connection may be corrected. */
  const settling = { until: 0 };
  const kept = new Map<string, Promise<unknown>>();
  /** What fails is asked for again the next time. */
  const remember = <T>(key: string, ask: () => Promise<T>): Promise<T> => {
    const known = kept.get(key) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const asked = ask();
    kept.set(key, asked);
    asked.catch(() => kept.get(key) === asked && kept.delete(key));
    return asked;
  };
  const listThere = () => remember('there', async () => connection.listTools());
  const tools = () =>
    remember('tools', async () => {
      const listed = (await listThere()).slice(0, maxTools + 1);
      return checkTools(
        listed.filter((tool) => !exceedsBounds(tool, resultBounds)).map((tool) => hideSecretsIn(entry, tool)),
        options,
        settling,
      );
    });
  return {
    tools,
    async recheckTools() {
      if ((await tools()).held.size > 0) kept.delete('tools');
      return tools();
    },
    prompts: () =>
      remember('prompts', async () => {
        const listed = takeBounded(entry, await connection.listPrompts()).filter(({ name }) =>
          isFitName(name),
        );
        return new Map(listed.map((prompt) => [toOfferedName(entry.name, prompt.name), prompt]));
      }),
    resources: () =>
      remember('resources', async () =>
        takeBounded(entry, await connection.listResources()).map((one) => ({
          ...one,
          uri: toOfferedUri(entry.name, one.uri),
        })),
      ),
    templates: () =>
      remember('templates', async () =>
        takeBounded(entry, await connection.listTemplates()).map((one) => ({
          ...one,
          uriTemplate: toOfferedUri(entry.name, one.uriTemplate),
        })),
      ),
    settle: () => void (settling.until = 0),
    forget(kind) {
      const keys = { tools: ['there', 'tools'], prompts: ['prompts'], resources: ['resources', 'templates'] };
      for (const key of keys[kind]) kept.delete(key);
    },
  };
}

/** As many as anybody could read, without those that are too large. */
const takeBounded = <Listed>(entry: ServerEntry, listed: readonly Listed[]): Listed[] =>
  listed
    .slice(0, maxServerTools)
    .filter((one) => !isDefinitionTooLarge(one))
    .map((one) => hideSecretsIn(entry, one));

const isDefinitionTooLarge = (value: unknown): boolean =>
  exceedsBounds(value, definitionBounds) || JSON.stringify(value).length > maxServerToolBytes;

/** A name that can be stored and shown. */
const isFitName = (name: string): boolean =>
  name.length > 0 && name.length <= maxNameThere && !/\p{Cc}/u.test(name) && name.isWellFormed();

async function checkTools(
  listed: readonly Tool[],
  options: CatalogOptions,
  settling: { until: number },
): Promise<ToolCatalog> {
  const { entry, pins, held } = options;
  const { fit, refused } = chooseServerTools(listed, options);
  const seen = new Map([...fit].map(([name, one]) => [name, toSeen(one)]));
  const settles = performance.now() < settling.until;
  const { accepted, newlyHeld, isFirst } = await pins.check(entry.name, [...seen.values()], settles);
  if (isFirst && listed.length > 0) settling.until = performance.now() + catalogSettleMs;
  if (newlyHeld.length > 0) held([...seen.values()].filter(({ tool }) => newlyHeld.includes(tool)));
  const tools = new Map<string, GatewayTool>();
  const heldNames = new Set<string>();
  for (const [name, tool] of fit) {
    if (accepted.has(tool.name)) tools.set(name, toGatewayTool(entry, name, tool, seen.get(name)!.hash));
    else heldNames.add(name);
  }
  return { tools, held: heldNames, refused };
}

/** The tools that can be offered, by their names here. */
function chooseServerTools(listed: readonly Tool[], { entry, isTaken }: CatalogOptions) {
  const fit = new Map<string, Tool>();
  const refused: string[] = [];
  const refuse = (tool: Tool, why: string): void => void refused.push(`${quoteShort(tool.name, 80)}: ${why}`);
  if (listed.length > maxTools) refused.push(`all tools after the first ${maxTools}`);
  for (const tool of listed.slice(0, maxTools)) {
    if (!isFitName(tool.name)) {
      refuse(tool, 'its name cannot be shown');
      continue;
    }
    const name = toOfferedName(entry.name, tool.name);
    const owner = isTaken(name);
    if (fit.has(name)) refuse(tool, 'the server lists it twice');
    else if (owner !== null)
      refuse(tool, `${name} belongs to ${owner}. Give the server another "prefix" in the gateway file`);
    else if (isDefinitionTooLarge(tool))
      refuse(tool, `its definition has more than ${maxServerToolBytes / 1024} KB or is nested too deeply`);
    else fit.set(name, tool);
  }
  return { fit, refused };
}

/** All that a server says of a tool, and that a model or a program goes by. */
function toSeen({ name, title, description, inputSchema, outputSchema, annotations }: Tool): SeenDefinition {
  const told = { name, title, description, inputSchema, outputSchema, annotations };
  return { tool: name, hash: hashDefinition(told), definition: JSON.stringify(told) };
}

function toGatewayTool(entry: ServerEntry, name: string, tool: Tool, hash: string): GatewayTool {
  const { title, description = '', inputSchema, outputSchema, annotations = {} } = tool;
  const isRenamed = name !== `${entry.name}_${tool.name}`;
  const note = isRenamed ? `Its name on the server ${entry.name} is ${quoteShort(tool.name, 200)}.` : '';
  return {
    name,
    server: entry.name,
    nameThere: tool.name,
    title: title ?? annotations.title ?? null,
    description: [description, note].filter((text) => text !== '').join('\n\n'),
    inputSchema,
    outputSchema: outputSchema ?? null,
    annotations,
    hash,
    sensitive: entry.sensitive,
  };
}
