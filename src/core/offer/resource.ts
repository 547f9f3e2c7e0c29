/**
 * What a kind of resources is: its URI template, and how its resources are listed, read and completed. Every room with
 * resources imports this. It registers nothing (`resources.ts` does), and all kinds are listed in `server/resources.ts`.
 */
import { WorkcrateError } from '../../platform/errors.ts';
import { detectPictureType, maxModelPictureBytes } from '../../platform/pictures.ts';
import { formatBytes, quoteName } from '../../platform/text/text.ts';
import { isQuestion, type McpClient, type Tool, type ToolContext, type ToolGroup } from './tool.ts';

/** Values of the variables of a URI template, decoded. */
export type UriVariables = Readonly<Record<string, string>>;

/** One resource in a list. */
export interface ListedResource {
  readonly variables: UriVariables;
  readonly name: string;
  /** Begins with the name: some clients show this and the URI alone. */
  readonly description: string;
  readonly mimeType: string;
  readonly size?: number;
  /** In milliseconds. */
  readonly modified?: number;
}

/** A part of the list of one kind. */
export interface ResourcePage {
  readonly resources: readonly ListedResource[];
  /** What to give as `after` for the next part; null after the last. */
  readonly next: string | null;
}

/** What a client reads: text, or a small picture in base64. */
export type ResourceBody =
  | { readonly mimeType: string; readonly text: string; readonly _meta?: Record<string, unknown> }
  | { readonly mimeType: string; readonly blob: string };

/** Resources of one kind, all with URIs of one form. */
export interface ResourceKind {
  readonly name: string;
  /** A caller needs the scope of this group; null where there is nothing of a user in them. */
  readonly group: ToolGroup | null;
  /** Whether a client is told of them; every client by default. */
  readonly isFor?: (client: McpClient) => boolean;
  readonly title: string;
  readonly description: string;
  /** The scheme, the kind, then `{variable}` for a segment; the last may be `{+variable}`, for all that is left. */
  readonly template: string;
  /** Left out where there are too many to list. */
  list?(
    page: { readonly after: string | null; readonly limit: number },
    context: ToolContext,
  ): Promise<ResourcePage>;
  read(variables: UriVariables, context: ToolContext): Promise<ResourceBody>;
  /** Values of one variable that begin like this; `known` are those of the others, as far as they are chosen. */
  complete(
    variable: string,
    begun: string,
    context: ToolContext,
    known: UriVariables,
  ): Promise<readonly string[]>;
}

/** A kind of resources without the room that has them. */
export interface DeclaredResources<Room> extends Omit<ResourceKind, 'list' | 'read' | 'complete'> {
  list?(
    room: Room,
    page: { readonly after: string | null; readonly limit: number },
    context: ToolContext,
  ): Promise<ResourcePage>;
  read(room: Room, variables: UriVariables, context: ToolContext): Promise<ResourceBody>;
  complete(
    room: Room,
    variable: string,
    begun: string,
    context: ToolContext,
    known: UriVariables,
  ): Promise<readonly string[]>;
}

/** The kind, now that its room is open. */
export function bindResources<Room>(kind: DeclaredResources<Room>, room: Room): ResourceKind {
  const { list, read, complete, ...facts } = kind;
  return {
    ...facts,
    ...(list && { list: (page, context) => list(room, page, context) }),
    read: (variables, context) => read(room, variables, context),
    complete: (variable, begun, context, known) => complete(room, variable, begun, context, known),
  };
}

/** The URI of a resource. Every character that could end a segment is encoded. */
export function toResourceUri(template: string, variables: UriVariables): string {
  return template.replaceAll(/\{(\+?)(\w+)\}/g, (_, rest: string, name: string) => {
    const value = variables[name]!.toWellFormed();
    return rest === '' ? encodeURIComponent(value) : value.split('/').map(encodeURIComponent).join('/');
  });
}

/** No name that a resource can have makes a longer one. */
const maxResourceUriLength = 16_384;

/** The variables of a URI that has the form of a template; null for any other. */
export function readResourceUri(template: string, uri: string): UriVariables | null {
  if (uri.length > maxResourceUriLength) return null;
  const pattern = template
    .replaceAll(/[^{}]+(?=\{|$)/g, RegExp.escape)
    .replaceAll(/\{(\+?)(\w+)\}/g, toGroupPattern);
  const groups = new RegExp(`^${pattern}$`, 's').exec(uri)?.groups;
  if (groups === undefined) return null;
  try {
    return Object.fromEntries(
      Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]),
    );
  } catch (error) {
    // Its percent encoding is broken.
    if (error instanceof URIError) return null;
    throw error;
  }
}

const toGroupPattern = (_: string, rest: string, name: string): string =>
  `(?<${name}>${rest === '' ? '[^/]+' : '.+'})`;

/** Bytes that a resource may show. */
export interface ShownBytes {
  readonly name: string;
  readonly size: number;
  readonly mediaType: string;
  /** All of them; called only where they are few. */
  read(): Promise<Buffer>;
  /** The most bytes that are shown, where that is less than usual. */
  readonly limit?: number;
  /** What to do instead where they are not shown, as a sentence. */
  readonly otherwise: string;
}

/** The largest text that is shown. */
export const maxResourceTextBytes = 64 * 1024;

/** Text and pictures where they are small, words about anything else: no other bytes get into a conversation (C1). */
export async function showBytes(shown: ShownBytes): Promise<ResourceBody> {
  const { size, limit = maxModelPictureBytes } = shown;
  if (size > Math.min(limit, maxModelPictureBytes)) return describeBytes(shown);
  const bytes = await shown.read();
  const picture = detectPictureType(bytes);
  if (picture !== null) return { mimeType: picture, blob: bytes.toString('base64') };
  const text = bytes.length > maxResourceTextBytes ? null : decodeResourceText(bytes);
  if (text === null) return describeBytes(shown);
  return { mimeType: toTextType(shown.mediaType), text };
}

function describeBytes({ name, size, mediaType, otherwise }: ShownBytes): ResourceBody {
  const limits = `text of up to ${formatBytes(maxResourceTextBytes)}, pictures of up to ${formatBytes(maxModelPictureBytes)}`;
  const text = `${quoteName(name)}, ${formatBytes(size)}, ${mediaType}. It is not shown here: only ${limits}. ${otherwise}`;
  return { mimeType: 'text/plain', text };
}

/** Null where the bytes are not text. */
function decodeResourceText(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

/** A type that says that these are no text is wrong for what has turned out to be text. */
const toTextType = (mediaType: string): string =>
  mediaType === 'application/octet-stream' || /^(?:image|audio|video|font)\/(?!svg)/.test(mediaType)
    ? 'text/plain'
    : mediaType;

/** Whether a name begins like what somebody has typed, in any case. */
export const beginsWith = (name: string, begun: string): boolean =>
  name.toLowerCase().startsWith(begun.toLowerCase());

/** A resource that reads as a tool answers. What the tool would not take as an argument does not exist. */
export async function readByTool(
  tool: Tool,
  given: Readonly<Record<string, unknown>>,
  context: ToolContext,
): Promise<ResourceBody> {
  const input = tool.input.safeParse(given);
  if (!input.success)
    throw new WorkcrateError('not_found', input.error.issues[0]?.message ?? 'There is no such resource.');
  const answer = await tool.handle(input.data, context);
  if (isQuestion(answer)) throw new WorkcrateError('unsupported', `Call ${tool.name} instead.`);
  return { mimeType: 'text/plain', text: answer.text };
}
