/**
 * All MCP tools of crates in one list. Each is made in `tools/`; here they are put together, and where there are
 * several users, paths of the server are redacted from their answers. What they do is in `crates.ts`.
 */
import type { Tool } from '../../core/offer/tool.ts';
import { createFindTools } from './tools/find.ts';
import { createPackCrateTool } from './tools/pack.ts';
import { createFolderRedaction, redactToolFolders } from './tools/redact-folders.ts';
import { createShareTools, type CrateShareToolsOptions } from './tools/share.ts';
import { createSyncTools } from './tools/sync.ts';
import { createValidateCrateTool } from './tools/validate.ts';

export type CrateToolsOptions = CrateShareToolsOptions;

/** Tools that find crates, look into them, hand out what they hold, make new ones, and judge them. */
export function createCrateTools(options: CrateToolsOptions): Tool[] {
  const tools = [
    ...createFindTools(options.crates),
    ...createShareTools(options),
    createPackCrateTool(options),
    ...createSyncTools(options.crates),
    createValidateCrateTool(options.crates),
  ];
  const { sourceUrls, isForSeveral } = options.crates;
  // A single user is the operator too, and may want to know where a crate is.
  return isForSeveral
    ? tools.map((tool) => redactToolFolders(tool, createFolderRedaction(sourceUrls)))
    : tools;
}
