/**
 * What MCP Apps add to the protocol: which clients show views, what is told of tools that have one, and where the data of
 * a view is in an answer. The views themselves, and which tool has which, are in `features/apps/`.
 */
import type { ClientCapabilities } from '@modelcontextprotocol/server';
import type { Tool } from './tool.ts';

export const viewsExtension = 'io.modelcontextprotocol/ui';

export const viewMediaType = 'text/html;profile=mcp-app';

/** Whether a client shows views of the kind that there are here. One that does not say which kinds shows the usual one. */
export function showsViews({ extensions }: ClientCapabilities): boolean {
  const settings = extensions?.[viewsExtension] as { readonly mimeTypes?: unknown } | undefined;
  if (typeof settings !== 'object' || settings === null) return false;
  const { mimeTypes } = settings;
  return mimeTypes === undefined || (Array.isArray(mimeTypes) && mimeTypes.includes(viewMediaType));
}

/** Whether a tool is told to a client: those for views are not for models, and would cost tokens. */
export const isToldTo = ({ isForViews = false }: Tool, capabilities: ClientCapabilities): boolean =>
  !isForViews || showsViews(capabilities);

/** What clients that show views are told of a tool; null where it has nothing to do with views. */
export function toViewMeta({ view, isForViews = false }: Tool): Record<string, unknown> | null {
  if (isForViews) return { ui: { visibility: ['app'] } };
  // The second key is the older one, which some clients still read alone.
  return view === undefined ? null : { ui: { resourceUri: view }, 'ui/resourceUri': view };
}

/** Larger data would only pass by the model for nothing: a view asks for the part that it shows. */
const maxViewCharacters = 512 * 1024;

/**
 * The data of a view in the `_meta` of an answer, which clients do not show to their model; null where there is none, and
 * the view has the text, or asks.
 */
export function toViewData(
  { view, isForViews = false }: Tool,
  structured: unknown,
  capabilities: ClientCapabilities,
): Record<string, unknown> | null {
  if ((view === undefined && !isForViews) || !showsViews(capabilities)) return null;
  const isSmall = isForViews || JSON.stringify(structured).length <= maxViewCharacters;
  return isSmall ? { 'workcrate/view': structured } : null;
}
