import {
  McpServer,
  requireScopes,
  type CallToolResult,
  type McpServerFactory,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { asWorkcrateError, isOurFault, publicMessage, WorkcrateError } from '../errors.ts';
import type { Caller } from '../identity.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { packageVersion } from '../version.ts';
import { callerOf } from './authentication.ts';
import { createStateCodec } from './request-state.ts';
import { asCallResult, type Tool, type ToolContext } from './tool.ts';

export interface McpOptions {
  readonly tools: readonly Tool[];
  readonly metrics: Metrics;
  readonly log: Log;
  readonly sharesMachine: boolean;
  /** Who calls where nobody has to sign in. */
  readonly caller: Caller;
  /** How many calls have not been answered yet: a server that stops waits for them. */
  readonly underWay?: { calls: number };
  /** Adds what is not a tool of ours, such as the fixtures of the conformance suite. */
  readonly extend?: ((server: McpServer, parts: ServerParts) => void) | undefined;
}

/** What an extension may use of the server that it extends. */
export interface ServerParts {
  /** Adds a tool by the same way as our own. */
  readonly addTool: (tool: Tool) => void;
  readonly state: RequestStateCodec;
}

const instructions =
  'Workcrate runs code in a sandbox and hands files out by link, so that no file passes through the conversation. ' +
  'To run Python, Node or Bash, call execute_code; have it write files for people to /artifacts, then call get_artifact and pass the downloadUrl on. ' +
  'To bring a file in, call request_upload and send the bytes to the uploadUrl with the curl command given. ' +
  'To hand a stored file to a person, call share_file and pass the downloadUrl on. ' +
  'To write a report as PDF, DOCX or a web page, call build_exports_content with Markdown and pass the downloadUrls on.';

/** The tools stay the same for as long as the process runs, so no client needs to listen for changes. */
const capabilities = { tools: { listChanged: false } };

/** The one factory behind every transport and every protocol version. */
export function createServerFactory(options: McpOptions): McpServerFactory {
  const state = createStateCodec(options.caller);
  return () => {
    const server = new McpServer(
      { name: 'workcrate', title: 'Workcrate', version: packageVersion },
      { instructions, capabilities, requestState: { verify: state.verify } },
    );
    const addTool = (tool: Tool): void => register(server, tool, options);
    options.tools.forEach(addTool);
    options.extend?.(server, { addTool, state });
    return server;
  };
}

function register(server: McpServer, tool: Tool, options: McpOptions): void {
  const { title, description, input, output, annotations } = tool;
  // Asks nothing of those who need not sign in.
  const scopeChallenge = requireScopes(tool.group);
  server.registerTool(
    tool.name,
    { title, description, inputSchema: input, outputSchema: output, annotations, scopeChallenge },
    (given, context) => call(tool, given, toolContext(context, options), options),
  );
}

function toolContext(context: ServerContext, { caller, sharesMachine, log }: McpOptions): ToolContext {
  const { signal, notify, _meta } = context.mcpReq;
  const progressToken = _meta?.progressToken;
  const scopes = context.http?.authInfo?.scopes;
  return {
    caller: callerOf(context, caller),
    signal,
    sharesMachine,
    mayUse: (group) => scopes === undefined || scopes.includes(group),
    progress(done, total, message) {
      if (progressToken === undefined || signal.aborted) return;
      const params = {
        progressToken,
        progress: done,
        ...(total === null ? {} : { total }),
        ...(message ? { message } : {}),
      };
      notify({ method: 'notifications/progress', params }).catch((error: unknown) =>
        log.debug('progress.not_sent', { error }),
      );
    },
  };
}

async function call(
  tool: Tool,
  given: Record<string, unknown>,
  context: ToolContext,
  { metrics, log, underWay = { calls: 0 } }: McpOptions,
): Promise<CallToolResult> {
  const started = performance.now();
  underWay.calls++;
  const finish = (result: string, fields: Record<string, unknown> = {}): void => {
    metrics.toolCalls.inc({ tool: tool.name, result });
    const ms = Math.round(performance.now() - started);
    log.info('tool.called', { tool: tool.name, user: context.caller.user, result, ms, ...fields });
  };
  try {
    const answer = await tool.handle(given, context);
    finish('ok');
    return asCallResult(answer);
  } catch (cause) {
    const error = context.signal.aborted ? cancelled(cause) : asWorkcrateError(cause);
    finish(error.code, isOurFault(error) ? { error } : {});
    return failure(error);
  } finally {
    underWay.calls--;
  }
}

function cancelled(cause: unknown): WorkcrateError {
  return new WorkcrateError('cancelled', 'The call was cancelled.', { cause });
}

/** The code stands in the text too, since many clients show the model nothing else. */
function failure(error: WorkcrateError): CallToolResult {
  return {
    isError: true,
    content: [{ type: 'text', text: `${publicMessage(error)} (${error.code})` }],
    _meta: { 'workcrate/error': { code: error.code, ...error.details } },
  };
}
