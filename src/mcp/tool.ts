import type { CallToolResult, ContentBlock, ToolAnnotations } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { Caller } from '../identity.ts';

/** What a tool's handler knows of the call, the same in every lane and protocol version. */
export interface ToolContext {
  readonly caller: Caller;
  /** Fires when the client cancels or goes away. */
  readonly signal: AbortSignal;
  /** Whether the client runs on this machine under the same user, as over stdio. */
  readonly sharesMachine: boolean;
  /** Whether the caller's key or token is good for the tools of a group; it is for the one of this tool. */
  mayUse(group: ToolGroup): boolean;
  /** Tells the client how far the work is, where it asked to be told. */
  progress(done: number, total: number | null, message?: string): void;
}

/** What people read, what programs read, and anything shown beside them. */
export interface ToolAnswer<Output> {
  readonly text: string;
  readonly structured: Output;
  readonly content?: readonly ContentBlock[];
}

/** Every group of tools there is. A caller needs the scope of this name for the tools of a group. */
export const toolGroups = ['code', 'artifacts', 'files', 'crates', 'documents'] as const;

export type ToolGroup = (typeof toolGroups)[number];

/** A tool is data plus a handler. */
export interface Tool<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly group: ToolGroup;
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  readonly output: Output;
  readonly annotations: ToolAnnotations;
  handle(input: z.output<Input>, context: ToolContext): Promise<ToolAnswer<z.input<Output>>>;
}

/** Lets the schemas of a tool give its handler its types; what comes back fits in one list with all others. */
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  tool: Tool<Input, Output>,
): Tool {
  return tool as unknown as Tool;
}

export function asCallResult(answer: ToolAnswer<unknown>): CallToolResult {
  return {
    content: [{ type: 'text', text: answer.text }, ...(answer.content ?? [])],
    structuredContent: answer.structured as Record<string, unknown>,
  };
}
