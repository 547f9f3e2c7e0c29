import type { Tool } from '../mcp/tool.ts';
import { findingTools } from './tools/finding.ts';
import { insideTools, type InsideToolsOptions } from './tools/inside.ts';
import { makingTools } from './tools/making.ts';

export type CrateToolsOptions = InsideToolsOptions;

/** Tools that find crates, look into them, hand out what they hold, and make new ones. */
export function crateTools(options: CrateToolsOptions): Tool[] {
  return [...findingTools(options.crates), ...insideTools(options), ...makingTools(options)];
}
