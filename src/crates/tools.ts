import type { Tool } from '../mcp/tool.ts';
import { findingTools } from './tools/find.ts';
import { makingTools } from './tools/pack.ts';
import { hideFoldersOf, insideTools, withHiddenFolders, type InsideToolsOptions } from './tools/share.ts';

export type CrateToolsOptions = InsideToolsOptions;

/** Tools that find crates, look into them, hand out what they hold, and make new ones. */
export function crateTools(options: CrateToolsOptions): Tool[] {
  const tools = [...findingTools(options.crates), ...insideTools(options), ...makingTools(options)];
  const { sourceUrls, isForSeveral } = options.crates;
  // A single user is the operator too, and may want to know where a crate is.
  return isForSeveral ? tools.map((tool) => withHiddenFolders(tool, hideFoldersOf(sourceUrls))) : tools;
}
