/**
 * Calls tools for a page, as an agent of the same user would: scopes, limits and the audit log do not know the
 * difference, but for the name of the client.
 */
import type { CallToolResult } from '@modelcontextprotocol/server';
import { WorkcrateError, type ErrorCode } from '../../platform/errors.ts';
import type { Caller } from '../../core/identity.ts';
import type { Toolbox } from '../../core/offer/toolbox.ts';
import { isQuestion, type ToolContext, type ToolGroup } from '../../core/offer/tool.ts';
import type { ToolAnswers } from './tool-answers.ts';

/** Who looks at a page. */
export interface Visitor {
  readonly caller: Caller;
  /** Null where authentication is off, and everything is allowed. */
  readonly scopes: readonly string[] | null;
  /** Fires when the browser goes away. */
  readonly signal: AbortSignal;
}

const never = new AbortController().signal;

const toContext = ({ caller, scopes, signal }: Visitor): ToolContext => ({
  caller,
  signal,
  stopping: never,
  client: {
    name: 'page',
    connection: null,
    capabilities: {},
    answer: () => {
      throw new WorkcrateError('client_unsupported', 'A page cannot be asked.');
    },
    state: null,
  },
  sharesMachine: false,
  mayUse: (group) => scopes === null || scopes.includes(group) || isGrantedByOther(group, scopes),
  canWait: true,
  progress: () => {},
  task: null,
});

/** Who may read a crate may have it checked: the group is a scope of its own only to keep lists of tools short. */
const isGrantedByOther = (group: ToolGroup, scopes: readonly string[]): boolean =>
  group === 'validation' && scopes.includes('crates');

export interface PageTools {
  has(visitor: Visitor, name: string): Promise<boolean>;
  /** The typed value of the answer. Rejects with the error of the tool. */
  call<Name extends keyof ToolAnswers>(
    visitor: Visitor,
    name: Name,
    input: Record<string, unknown>,
  ): Promise<ToolAnswers[Name]>;
}

export function createPageTools(toolbox: Toolbox): PageTools {
  return {
    has: (visitor, name) => toolbox.has(name, toContext(visitor)),
    async call(visitor, name, input) {
      const result = await toolbox.call(name, input, toContext(visitor));
      if (isQuestion(result))
        throw new WorkcrateError('client_unsupported', `${name} needs a client that can be asked.`);
      if (result.isError === true) throw toError(result);
      return result.structuredContent as never;
    },
  };
}

function toError({ content, _meta }: CallToolResult): WorkcrateError {
  const [first] = content;
  const { code = 'internal' } = (_meta?.['workcrate/error'] ?? {}) as { code?: ErrorCode };
  return new WorkcrateError(code, first?.type === 'text' ? first.text : 'The tool failed.');
}
