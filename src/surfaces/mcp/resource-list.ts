/**
 * The list of resources of all kinds, in pages: each page has some of every kind, so that a client that reads only the
 * first one sees them all. A cursor says where each kind goes on. It reads no rows: each kind lists its own.
 */
import type { ListResourcesResult, Resource } from '@modelcontextprotocol/server';
import { WorkcrateError } from '../../platform/errors.ts';
import { toResourceUri, type ListedResource, type ResourceKind } from '../../core/offer/resource.ts';
import type { ToolContext } from '../../core/offer/tool.ts';

/** How many of each kind are on a page. */
const kindsPageSize = 25;
/** How many of each kind are listed in all: some clients read every page, and some give all of it to their model. */
const maxListedOfKind = 100;

interface KindPosition {
  readonly after: string | null;
  /** How many were listed before. */
  readonly seen: number;
}

export async function listResources(
  kinds: readonly ResourceKind[],
  cursor: string | undefined,
  context: ToolContext,
): Promise<ListResourcesResult> {
  const positions = cursor === undefined ? null : parseListCursor(cursor);
  const [resources, further] = [[] as Resource[], [] as [string, KindPosition][]];
  for (const kind of kinds) {
    const position = positions === null ? { after: null, seen: 0 } : positions.get(kind.name);
    if (position === undefined || kind.list === undefined) continue;
    const limit = Math.min(kindsPageSize, maxListedOfKind - position.seen);
    const page = await kind.list({ after: position.after, limit }, context);
    resources.push(...page.resources.map((listed) => toListedResource(kind, listed)));
    const seen = position.seen + limit;
    if (page.next !== null && seen < maxListedOfKind) further.push([kind.name, { after: page.next, seen }]);
  }
  return { resources, ...(further.length > 0 && { nextCursor: formatListCursor(further) }) };
}

function toListedResource({ template }: ResourceKind, listed: ListedResource): Resource {
  const { variables, name, description, mimeType, size, modified } = listed;
  return {
    uri: toResourceUri(template, variables),
    name,
    description,
    mimeType,
    ...(size !== undefined && { size }),
    ...(modified !== undefined && { annotations: { lastModified: new Date(modified).toISOString() } }),
  };
}

const formatListCursor = (further: readonly [string, KindPosition][]): string =>
  Buffer.from(JSON.stringify(further.map(([name, { after, seen }]) => [name, after, seen]))).toString(
    'base64url',
  );

/** Cursors come from clients. One that was changed lists other things of the same caller, or is refused. */
function parseListCursor(cursor: string): Map<string, KindPosition> {
  const positions = readCursorEntries(cursor);
  if (positions === null)
    throw new WorkcrateError('invalid_input', 'This cursor is not one of ours: list again without a cursor.');
  return new Map(positions);
}

const maxCursorLength = 16_384;

function readCursorEntries(cursor: string): [string, KindPosition][] | null {
  if (cursor.length > maxCursorLength) return null;
  const entries = parseCursorJson(Buffer.from(cursor, 'base64url').toString());
  if (!Array.isArray(entries)) return null;
  const positions = entries.map(toPosition);
  return positions.every((position) => position !== null) ? positions : null;
}

function toPosition(entry: unknown): [string, KindPosition] | null {
  if (!Array.isArray(entry)) return null;
  const [name, after, seen] = entry as unknown[];
  const isValid =
    typeof name === 'string' &&
    typeof after === 'string' &&
    Number.isSafeInteger(seen) &&
    (seen as number) >= 0 &&
    (seen as number) < maxListedOfKind;
  return isValid ? [name, { after, seen: seen as number }] : null;
}

function parseCursorJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not ours, as anything else that is not a list.
    return null;
  }
}
