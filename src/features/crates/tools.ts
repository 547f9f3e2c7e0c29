/**
 * All MCP tools of crates in one list. Each is declared in `tools/`; here they are put together, and where there are
 * several users, paths of the server are redacted from their answers. What they do is in `crates.ts`.
 */
import type { DeclaredTool } from '../../core/offer/tool.ts';
import { declareFindTools } from './tools/find.ts';
import { redactCrateTools } from './tools/redact-folders.ts';
import type { CratesRoom, CrateTerms } from './tools/room.ts';
import { declareShareTools } from './tools/share.ts';
import { declareSyncTools } from './tools/sync.ts';

/** Tools that find crates, look into them, and hand out what they hold. */
export const declareCrateTools = (terms: CrateTerms): DeclaredTool<CratesRoom>[] =>
  redactCrateTools([...declareFindTools(terms), ...declareShareTools(terms), ...declareSyncTools(terms)]);
