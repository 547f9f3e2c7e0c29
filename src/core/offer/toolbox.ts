/**
 * All tools that a caller may call, wherever they run, in one shape: our own, and those of other servers. It is for
 * whoever calls tools other than by `tools/call`: code in the sandbox, `call_tool`, the search for tools.
 */
import { createHash } from 'node:crypto';
import type { CallToolResult, ToolAnnotations } from '@modelcontextprotocol/server';
import { findNearest } from '../../platform/text/edit-distance.ts';
import { asWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import {
  isQuestion,
  toCallResult,
  toErrorResult,
  toOfferedTool,
  type OfferedTool,
  type Question,
  type Tool,
  type ToolContext,
} from './tool.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** What is told of a tool. All of it may come from another server: texts and schemas are untrusted. */
export interface ToolDefinition {
  /** The name by which it is called here, such as `search_index` or `github_create_issue`. */
  readonly name: string;
  /** Which server has it: `workcrate`, or the name of one behind the gateway. */
  readonly server: string;
  /** Its name on that server. */
  readonly nameThere: string;
  readonly title: string | null;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema | null;
  readonly annotations: ToolAnnotations;
  /** SHA-256 of all that its server says of it: another hash is another tool. */
  readonly hash: string;
}

/** Tools that can be listed and called for a caller. */
export interface Toolbox {
  /** The tools that this caller may use. */
  list(context: ToolContext): Promise<readonly ToolDefinition[]>;
  /** Whether it has a tool of this name for this caller. */
  has(name: string, context: ToolContext): Promise<boolean>;
  /**
   * Calls a tool, with structured content where the tool has it. What a tool fails with is a result with `isError`; a
   * question has to be passed on to the client. Rejects only with `not_found`, if there is no such tool.
   */
  call(
    name: string,
    input: Record<string, unknown>,
    context: ToolContext,
  ): Promise<CallToolResult | Question>;
}

/** The name under which our own tools are told. */
export const ownServer = 'workcrate';

/** Our own tools, of all groups that the caller's scopes allow; those for views are for views alone. */
export function createOwnToolbox(tools: readonly Tool[]): Toolbox {
  const callable = tools.filter(({ isForViews = false }) => !isForViews);
  const byName = new Map(callable.map((tool) => [tool.name, { tool, definition: defineOwn(tool) }]));
  const find = (name: string, context: ToolContext) => {
    const known = byName.get(name);
    return known !== undefined && context.mayUse(known.tool.group) ? known : null;
  };
  return {
    list: async (context) =>
      [...byName.values()]
        .filter(({ tool }) => context.mayUse(tool.group))
        .map(({ definition }) => definition),
    has: async (name, context) => find(name, context) !== null,
    async call(name, input, context) {
      const known = find(name, context);
      if (known === null) throw toolNotFoundError(name, byName.keys());
      return callOwn(known.tool, input, context);
    },
  };
}

async function callOwn(tool: Tool, given: Record<string, unknown>, context: ToolContext) {
  try {
    const input = tool.input.safeParse(given);
    if (!input.success) throw wrongArgumentsError(tool.name, input.error.issues, given);
    const answer = await tool.handle(input.data, context);
    return isQuestion(answer) ? answer : toCallResult(answer, true);
  } catch (error) {
    return toErrorResult(asWorkcrateError(error));
  }
}

interface ArgumentIssue {
  readonly message: string;
  readonly path: readonly PropertyKey[];
}

const maxArgumentIssues = 5;

function wrongArgumentsError(name: string, issues: readonly ArgumentIssue[], given: unknown): WorkcrateError {
  const told = issues.slice(0, maxArgumentIssues).map(({ message, path }) => {
    const place = path.map(String).join('.');
    if (place === '') return message;
    return isMissing(given, path) ? `${place} is missing` : `${place}: ${message}`;
  });
  return new WorkcrateError('invalid_input', `The arguments of ${name} do not fit: ${told.join('; ')}.`);
}

/** Whether nothing is given at a place. */
function isMissing(given: unknown, path: readonly PropertyKey[]): boolean {
  let value = given;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return true;
    value = (value as Record<PropertyKey, unknown>)[part];
  }
  return value === undefined;
}

/** Several toolboxes as one. The first that has a tool is asked for it. */
export function joinToolboxes(toolboxes: readonly Toolbox[]): Toolbox {
  const find = async (name: string, context: ToolContext): Promise<Toolbox | null> => {
    for (const toolbox of toolboxes) if (await toolbox.has(name, context)) return toolbox;
    return null;
  };
  const list = async (context: ToolContext) =>
    (await Promise.all(toolboxes.map((toolbox) => toolbox.list(context)))).flat();
  return {
    list,
    has: async (name, context) => (await find(name, context)) !== null,
    async call(name, input, context) {
      const toolbox = await find(name, context);
      if (toolbox === null)
        throw toolNotFoundError(
          name,
          (await list(context)).map((tool) => tool.name),
        );
      return toolbox.call(name, input, context);
    },
  };
}

export function toolNotFoundError(name: string, known: Iterable<string>): WorkcrateError {
  const shown = name.slice(0, 100);
  const nearest = findNearest(shown, known);
  const hint = nearest === null ? '' : ` Did you mean ${nearest}?`;
  return new WorkcrateError('not_found', `There is no tool ${JSON.stringify(shown)} for you here.${hint}`);
}

function defineOwn(tool: Tool): ToolDefinition {
  const { name, title, description, annotations } = tool;
  const { inputSchema, outputSchema } = toOfferedTool(tool);
  const told = {
    title,
    description,
    inputSchema: describe(inputSchema, 'input'),
    outputSchema: describe(outputSchema, 'output'),
    annotations,
  };
  return { name, server: ownServer, nameThere: name, ...told, hash: hashDefinition({ name, ...told }) };
}

const describe = (schema: OfferedTool['inputSchema'], side: 'input' | 'output'): JsonSchema =>
  schema['~standard'].jsonSchema[side]({ target: 'draft-2020-12' });

/** The same for the same definition, whatever the order of its keys. */
export const hashDefinition = (definition: object): string =>
  createHash('sha256').update(toSortedJson(definition)).digest('hex');

/** JSON that is the same for the same value, whatever the order of its keys. */
export const toSortedJson = (value: unknown): string => JSON.stringify(sortKeys(value));

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sortKeys(inner)]));
}
