/**
 * What an extension of the protocol is: its identifier, its settings, and the methods that it adds. Rooms define them, and
 * servers offer them to every version of MCP. The extension for tasks is not one of these: it changes how tools are called.
 */
import type { Result } from '@modelcontextprotocol/server';
import type { ToolContext, ToolGroup } from './tool.ts';

export interface Extension {
  /** Such as `io.modelcontextprotocol/skills`. */
  readonly name: string;
  /** What servers declare of it. */
  readonly settings: Readonly<Record<string, string | number | boolean>>;
  /** A caller needs the scope of this group; null where it has no methods. */
  readonly group: ToolGroup | null;
  readonly methods: readonly ExtensionMethod[];
}

export interface ExtensionMethod {
  readonly name: string;
  /** Answers a request. What there is nothing of is `not_found`. */
  handle(params: MethodParams, context: ToolContext): Promise<Result>;
}

/** An extension without the room that answers its methods. */
export interface DeclaredExtension<Room> extends Omit<Extension, 'methods'> {
  readonly methods: readonly {
    readonly name: string;
    handle(room: Room, params: MethodParams, context: ToolContext): Promise<Result>;
  }[];
}

/** The extension, now that its room is open. */
export const bindExtension = <Room>(extension: DeclaredExtension<Room>, room: Room): Extension => ({
  ...extension,
  methods: extension.methods.map(({ name, handle }) => ({
    name,
    handle: (params, context) => handle(room, params, context),
  })),
});

/** What the methods of extensions are asked about. */
export interface MethodParams {
  readonly uri?: string | undefined;
  readonly cursor?: string | undefined;
}
