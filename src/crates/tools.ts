import type { Tool } from '../mcp/tool.ts';
import { findingTools } from './tools/finding.ts';
import { hideFoldersOf, withHiddenFolders } from './tools/hide-folders.ts';
import { insideTools, type InsideToolsOptions } from './tools/inside.ts';
import { makingTools } from './tools/making.ts';

export type CrateToolsOptions = InsideToolsOptions;

/** Tools that find crates, look into them, hand out what they hold, and make new ones. */
export function crateTools(options: CrateToolsOptions): Tool[] {
  const tools = [...findingTools(options.crates), ...insideTools(options), ...makingTools(options)];
  const { sourceUrls, isForSeveral } = options.crates;
  // A single user is the operator too, and may want to know where a crate is.
  return isForSeveral ? tools.map((tool) => withHiddenFolders(tool, hideFoldersOf(sourceUrls))) : tools;
}
