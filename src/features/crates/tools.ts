/**
 * All MCP tools of crates in one list. Each is made in `tools/`; here they are put together, and where there are
 * several users, paths of the server are redacted from their answers. What they do is in `crates.ts`.
 */
import type { Tool } from '../../core/offer/tool.ts';
import { createFindTools } from './tools/find.ts';
import { redactCrateTools } from './tools/redact-folders.ts';
import { createShareTools, type CrateShareToolsOptions } from './tools/share.ts';
import { createSyncTools } from './tools/sync.ts';

export type CrateToolsOptions = CrateShareToolsOptions;

/** Tools that find crates, look into them, and hand out what they hold. */
export const createCrateTools = (options: CrateToolsOptions): Tool[] =>
  redactCrateTools(options.crates, [
    ...createFindTools(options.crates),
    ...createShareTools(options),
    ...createSyncTools(options.crates),
  ]);
