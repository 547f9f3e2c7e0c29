/**
 * What `tools/list` answers: the tools that the caller's scopes allow, with output schemas only for programs that ask for
 * structured content. Which tools a server has at all is decided in `server/tools.ts`.
 */
import type { ListToolsResult, McpServer, ServerContext } from '@modelcontextprotocol/server';
import type { AnswerCounted } from './answered-requests.ts';
import { wrapHandler } from './handlers.ts';
import type { OfferedTool, Tool, ToolContext, ToolGroup } from '../../core/offer/tool.ts';
import { upstreamGroup, type Upstream } from '../../core/offer/upstream.ts';
import { isToldTo, showsViews, toViewMeta } from '../../core/offer/views.ts';

/** Hints that Claude Code reads: it searches its tools by name, description and these words. */
export function toToolMeta({ searchHint, alwaysLoad = false }: Tool): Record<string, unknown> | undefined {
  if (searchHint === undefined && !alwaysLoad) return undefined;
  return {
    ...(searchHint === undefined ? {} : { 'anthropic/searchHint': searchHint }),
    ...(alwaysLoad ? { 'anthropic/alwaysLoad': true } : {}),
  };
}

/** The key in `_meta` of a request by which a program asks for structured content in its answer. */
const structuredMetaKey = 'workcrate/structured';

/** Whether this one request asks for structured content. */
export const isStructuredRequest = ({ mcpReq }: ServerContext): boolean =>
  mcpReq._meta?.[structuredMetaKey] === true;

/** Whether all requests to this URL ask for structured content: `/mcp?structured=1`. */
export function isStructuredUrl(url: string | undefined): boolean {
  if (url === undefined) return false;
  const wanted = new URL(url).searchParams.get('structured');
  return wanted !== null && wanted !== '0' && wanted !== 'false';
}

/**
 * Groups that come with the scope of another: keys that were made before they were there keep the tools that they had,
 * and the way to them. `discovery` reaches nothing for which a scope is missing.
 */
const includedIn: Partial<Record<ToolGroup, ToolGroup>> = { packages: 'code', discovery: 'code' };

/** Whether the caller of a request may use a group: all of them where authentication is off. */
export function mayUseGroup(scopes: readonly string[] | undefined, group: ToolGroup): boolean {
  if (scopes === undefined || scopes.includes(group)) return true;
  const wider = includedIn[group];
  return wider !== undefined && scopes.includes(wider);
}

/** What servers behind this one offer, and what is known of a request. */
export interface ToolListOptions {
  readonly upstream?: Pick<Upstream, 'listTools'> | undefined;
  readonly answer: AnswerCounted;
  readonly toContext: (context: ServerContext) => ToolContext;
}

/**
 * Completes the list of the SDK, which has all registered tools: leaves out what the caller's scopes do not allow, and
 * adds output schemas where this one request asks for them, views where the client shows them, and the tools of servers
 * behind this one.
 */
export function fitToolList(
  server: McpServer,
  offered: readonly OfferedTool[],
  { upstream, answer, toContext }: ToolListOptions,
): void {
  const byName = new Map(offered.map((one) => [one.tool.name, one]));
  wrapHandler(server, 'tools/list', (handle) => async (request, context) => {
    const { tools, ...rest } = (await handle(request, context)) as ListToolsResult;
    const scopes = context.http?.authInfo?.scopes;
    const withOutput = isStructuredRequest(context);
    const toolContext = toContext(context);
    const { capabilities } = toolContext.client;
    const fitted = tools.flatMap((listed) => {
      const known = byName.get(listed.name);
      if (known === undefined) return [listed];
      if (!mayUseGroup(scopes, known.tool.group) || !isToldTo(known.tool, capabilities)) return [];
      const view = showsViews(capabilities) ? toViewMeta(known.tool) : null;
      return [
        {
          ...listed,
          ...(withOutput ? { outputSchema: describeOutput(known) } : {}),
          ...(view === null ? {} : { _meta: { ...listed._meta, ...view } }),
        },
      ];
    });
    const further =
      upstream !== undefined && mayUseGroup(scopes, upstreamGroup)
        ? await answer({ method: 'tools/list', subject: null, isRoutine: true }, context, (about) =>
            upstream.listTools(about),
          )
        : [];
    return { ...rest, tools: [...fitted, ...further] };
  });
}

function describeOutput({ outputSchema }: OfferedTool): { type: 'object' } {
  const { jsonSchema } = outputSchema['~standard'];
  return jsonSchema.output({ target: 'draft-2020-12' }) as { type: 'object' };
}
