/**
 * What a tool is: its schemas, its handler, what the handler knows of a call, and what it may answer. Every room with tools
 * imports this. It runs nothing (`server.ts` does), and the list of all tools is `server/tools.ts`.
 */
import {
  SdkError,
  SdkErrorCode,
  type CallToolResult,
  type ClientCapabilities,
  type ContentBlock,
  type InputRequest,
  type InputResponseView,
  type StandardSchemaWithJSON,
  type ToolAnnotations,
} from '@modelcontextprotocol/server';
import type { z } from 'zod';
import { isWorkcrateError, publicMessage, WorkcrateError } from '../../platform/errors.ts';
import type { Caller } from '../identity.ts';

/** What the handler of a tool knows of the call, the same for every transport and protocol version. */
export interface ToolContext {
  readonly caller: Caller;
  /** Fires when the client cancels or goes away; `readEndOfCall` tells which. */
  readonly signal: AbortSignal;
  /** Fires when the server stops. Work is finished, but no more answers are waited for. */
  readonly stopping: AbortSignal;
  /** The program that calls for the caller, and what it can be asked. */
  readonly client: McpClient;
  /** Whether the client runs on this machine under the same user, as over stdio. */
  readonly sharesMachine: boolean;
  /** Whether the caller's key or token has the scope for a group of tools; it has the one of this tool. */
  mayUse(group: ToolGroup): boolean;
  /** Whether the client waits for long calls: it asked for progress, or it takes tasks. Others give up after a minute. */
  readonly canWait: boolean;
  /** Reports progress to the client, where it asked for that. */
  progress(done: number, total: number | null, message?: string): void;
  /** The trace or agent that the client named, in `_meta` or by `traceparent`; null where it named none. */
  readonly trace?: string | null;
  /** The task that this call becomes if it lasts: its client need not wait for it. Null for other clients and tools. */
  readonly task: TaskOfCall | null;
}

/** What a call may say of the task that it becomes. */
export interface TaskOfCall {
  /** Says which execution the call is. `becameTask` is called when it becomes a task, before its client is told. */
  showExecution(id: string, becameTask: () => Promise<void>): void;
}

/** The program at the other end. */
export interface McpClient {
  /** Name and version as the client sent them; null where it did not. */
  readonly name: string | null;
  /**
   * The same for all calls of one connection, until its client announces other roots; null where calls have no
   * connection, as over HTTP from 2026-07-28 on.
   */
  readonly connection: object | null;
  /** The capabilities that it declared, in this request or at the handshake. */
  readonly capabilities: ClientCapabilities;
  /** Its answer to a question of an earlier round of this call. */
  answer(key: string): InputResponseView;
  /** The state that the earlier round of this call left with the client, verified; null in the first round. */
  readonly state: Readonly<Record<string, unknown>> | null;
}

/**
 * What a handler returns instead of an answer when it has to ask the client first. It is called again, from its
 * beginning, with the answers and the state.
 */
export interface Question {
  readonly ask: Readonly<Record<string, InputRequest>>;
  readonly state: Readonly<Record<string, unknown>>;
}

export const isQuestion = (answer: object): answer is Question => 'ask' in answer;

/** Why the signal of a call fired: its client cancelled it or lost its connection, or the server stops. */
export function readEndOfCall({ reason }: AbortSignal): 'cancelled' | 'disconnected' | 'stopping' {
  if (reason instanceof SdkError && reason.code === SdkErrorCode.ConnectionClosed) return 'disconnected';
  return isWorkcrateError(reason, 'stopping') ? 'stopping' : 'cancelled';
}

/** Ends the wait for an answer when the server stops. */
export const createStoppingError = (cause: unknown): WorkcrateError =>
  new WorkcrateError(
    'stopping',
    'The server is stopping and takes no more answers. Call again in a moment.',
    { cause },
  );

/**
 * What a tool answers. The text is the answer that models read, so it contains every fact and every next step. Programs
 * that ask for it get the typed value too.
 */
export interface ToolAnswer<Output> {
  /** May be made when it is first read: pages and code read the typed value alone. */
  readonly text: string;
  readonly structured: Output;
  /** Pictures, which every client gets, and links to resources, which only programs get: the text has the URL. */
  readonly content?: readonly ContentBlock[];
  /** The result of another server, which is answered as it is, in place of all of these. */
  readonly passedOn?: CallToolResult;
}

/** The groups that are offered by default. A caller needs the scope of this name for the tools of a group. */
export const toolGroups = [
  'code',
  'artifacts',
  'files',
  'crates',
  'documents',
  'client',
  'skills',
  'discovery',
] as const;

/** The groups that are offered only where `--tools` names them: every tool costs tokens in every conversation. */
export const furtherGroups = ['scripts', 'validation', 'packages', 'gateway'] as const;

/** For those who run the server; it must be granted explicitly. */
export const operatorGroup = 'operator';

export type ToolGroup = (typeof toolGroups)[number] | (typeof furtherGroups)[number] | typeof operatorGroup;

/**
 * What the audit log shows of a call: names of arguments and of fields of the answer. Each tool declares its own, since
 * only its room knows their meaning.
 */
export interface AuditFields<
  Argument extends string = string,
  Field extends string = string,
  TextArgument extends string = Argument,
> {
  /** The subject of the call: the first of these arguments that is present, text or a list of names. May be empty. */
  readonly subject: readonly TextArgument[];
  /** The subject of a call that failed and made nothing, where none of those is one. */
  readonly failed?: readonly TextArgument[];
  /** The arguments that name a link, by its id and by its token. They are the subject before any other. */
  readonly link?: { readonly id: TextArgument; readonly token: TextArgument };
  /** The subject where no argument is one: the first of these fields of the answer that is present. */
  readonly made?: readonly Field[];
  /** Arguments that list files, as names or as objects with a `path`. */
  readonly files?: readonly Argument[];
  /** The field of the answer with the token of a new link. The public id is shown, never the token. */
  readonly newToken?: Field;
  /** Fields of the answer that say how a run ended, and whether it went on without the call. */
  readonly runEnd?: { readonly reason: Field; readonly exitCode: Field; readonly background?: Field };
}

type NamesIn<Schema extends z.ZodObject> = keyof z.output<Schema> & string;

/** Of what a schema has parsed, the fields that are text or a list of texts: nothing else can be shown as a subject. */
type TextNamesIn<Schema extends z.ZodObject> = {
  [Name in NamesIn<Schema>]: z.output<Schema>[Name] extends string | readonly string[] | null | undefined
    ? Name
    : string extends Name
      ? Name
      : never;
}[NamesIn<Schema>];

/** A tool is data plus a handler. */
export interface Tool<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly group: ToolGroup;
  readonly title: string;
  readonly description: string;
  /** Further words by which a client that searches its tools should find this one. */
  readonly searchHint?: string;
  /** Whether a client that loads tools when they are needed should have this one from the start. */
  readonly alwaysLoad?: boolean;
  readonly input: Input;
  readonly output: Output;
  readonly annotations: ToolAnnotations;
  readonly auditFields: AuditFields<NamesIn<Input>, NamesIn<Output>, TextNamesIn<Input>>;
  /** Whether a call that lasts may become a task, for clients that know tasks. */
  readonly mayBeTask?: boolean;
  /** Whether its room writes the lines of the audit log for its calls itself. */
  readonly auditsItself?: boolean;
  /** The URI of the view that clients show for its answers, where they know MCP Apps. */
  readonly view?: string;
  /** Whether only views call it: no model is told of it. */
  readonly isForViews?: boolean;
  handle(input: z.output<Input>, context: ToolContext): Promise<ToolAnswer<z.input<Output>> | Question>;
}

/** Gives the handler its types from the schemas; the result fits in one list with all other tools. */
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  tool: Tool<Input, Output>,
): Tool {
  return tool as unknown as Tool;
}

/**
 * A tool without the room that it works on: all that clients, help and docs are told of it, and a handler that is given
 * the room. So it can be listed before anything is open.
 */
export interface DeclaredTool<
  Room,
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodObject = z.ZodObject,
> extends Omit<Tool<Input, Output>, 'handle'> {
  handle(
    room: Room,
    input: z.output<Input>,
    context: ToolContext,
  ): Promise<ToolAnswer<z.input<Output>> | Question>;
}

/** Gives the handler its types from the schemas, as `defineTool` does; the room is what its first parameter says. */
export function declareTool<Room, Input extends z.ZodObject, Output extends z.ZodObject>(
  tool: DeclaredTool<Room, Input, Output>,
): DeclaredTool<Room> {
  return tool as unknown as DeclaredTool<Room>;
}

/** The tool, now that its room is open. */
export const bindTool = <Room>(tool: DeclaredTool<Room>, room: Room): Tool => ({
  ...tool,
  handle: (input, context) => tool.handle(room, input, context),
});

/**
 * No client shows its model both the text and the structured content of a result, and some drop pictures beside the
 * latter. So only programs that ask get it, with the links as resources (decision 038).
 */
export function toCallResult(
  answer: ToolAnswer<unknown>,
  isStructured: boolean,
  meta: Record<string, unknown> | null = null,
): CallToolResult {
  const { structured, content = [], passedOn } = answer;
  if (passedOn !== undefined) return passedOn;
  const said = {
    type: 'text' as const,
    get text() {
      return answer.text;
    },
  };
  const further = isStructured ? content : content.filter(({ type }) => type !== 'resource_link');
  return {
    content: [said, ...further],
    ...(isStructured ? { structuredContent: structured as Record<string, unknown> } : {}),
    ...(meta === null ? {} : { _meta: meta }),
  };
}

/** The text is the message alone, in the words of the specification; programs read the code in `_meta`. */
export function toErrorResult(error: WorkcrateError): CallToolResult {
  return {
    isError: true,
    content: [{ type: 'text', text: publicMessage(error) }],
    _meta: { 'workcrate/error': { code: error.code, ...error.details } },
  };
}

type DescribedSchema = StandardSchemaWithJSON<Record<string, unknown>, Record<string, unknown>>;
type Validate = DescribedSchema['~standard']['validate'];
type Validated = Awaited<ReturnType<Validate>>;
type SchemaIssue = NonNullable<Validated['issues']>[number];
type Describe = DescribedSchema['~standard']['jsonSchema']['input'];

/**
 * The schema of a tool for the SDK, with its JSON schema cached: from 2026-07-28 on every call over HTTP has a server
 * of its own, which converts both schemas of its tool, and that took longer than many tools.
 */
function cacheJsonSchema(schema: z.ZodObject): DescribedSchema {
  const standard = schema['~standard'] as DescribedSchema['~standard'];
  const { input, output } = standard.jsonSchema;
  const validate: Validate = async (value) => limitIssues(await standard.validate(value));
  return {
    '~standard': {
      ...standard,
      validate,
      jsonSchema: { input: cacheDescription(input), output: cacheDescription(output) },
    },
  };
}

const maxSchemaIssues = 20;
const maxErrorCharacters = 500;

/** The SDK puts all that is wrong with a call into its answer, which may be longer than the call. */
function limitIssues(result: Validated): Validated {
  if (result.issues === undefined) return result;
  const more = result.issues.length - maxSchemaIssues;
  const shown = result.issues.slice(0, maxSchemaIssues).map(shortenIssue);
  return { issues: more > 0 ? [...shown, { message: `and ${more} more` }] : shown };
}

/** Unknown keys are named in the message, and invalid ones in the path. */
const shortenIssue = ({ message, path = [] }: SchemaIssue): SchemaIssue => ({
  message: cutErrorText(message),
  path: path.slice(0, 10).map((part) => (typeof part === 'string' ? cutErrorText(part) : part)),
});

const cutErrorText = (text: string): string =>
  text.length > maxErrorCharacters ? `${text.slice(0, maxErrorCharacters)}…` : text;

/**
 * The SDK uses one target only; another would get a description of its own. The dialect is the one that MCP assumes, so
 * naming it in every schema would only cost tokens.
 */
function cacheDescription(describe: Describe): Describe {
  const made = new Map<string, ReturnType<Describe>>();
  return (options) => {
    const known = made.get(options.target) ?? withoutDialect(describe(options));
    made.set(options.target, known);
    return known;
  };
}

function withoutDialect({ $schema: _dialect, ...schema }: ReturnType<Describe>): ReturnType<Describe> {
  return schema;
}

/** A tool as servers register it: converting its schemas takes longer than many calls, so it is done once. */
export interface OfferedTool {
  readonly tool: Tool;
  readonly inputSchema: ReturnType<typeof cacheJsonSchema>;
  readonly outputSchema: ReturnType<typeof cacheJsonSchema>;
}

export const toOfferedTool = (tool: Tool): OfferedTool => ({
  tool,
  inputSchema: cacheJsonSchema(tool.input),
  outputSchema: cacheJsonSchema(tool.output),
});
