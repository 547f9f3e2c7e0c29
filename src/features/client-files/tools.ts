/**
 * The list of this room's tools. Each of them writes its own audit lines, with every path, so the common wrapper
 * leaves them alone. The tools themselves are in `tools/` and `cache/tools.ts`.
 */
import type { DeclaredTool } from '../../core/offer/tool.ts';
import { guideCacheFileTool, type CacheRoom } from './cache/tools.ts';
import { declareListTool, type ListRoom } from './tools/list.ts';
import { declareReadTool, type ReadRoom } from './tools/read.ts';

export type ClientFilesRoom = ReadRoom & ListRoom & CacheRoom;

/** What may be read and listed, for the descriptions. */
interface AllowedFolders {
  readonly readable: readonly string[];
  readonly listable: readonly string[];
}

/** Tools that have files of the client's, and the one by which a client gives files. */
export const declareClientTools = ({ readable, listable }: AllowedFolders): DeclaredTool<ClientFilesRoom>[] =>
  [declareReadTool(readable), declareListTool(listable), guideCacheFileTool].map((tool) => ({
    ...tool,
    auditsItself: true,
  }));
