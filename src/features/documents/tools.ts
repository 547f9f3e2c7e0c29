/** The list of all tools for documents. What they do is in `tools/` and `zotero/tools.ts`. */
import type { Tool } from '../../core/offer/tool.ts';
import { buildTool, type BuildToolOptions } from './tools/build.ts';
import { validateTool } from './tools/validate.ts';
import { libraryTools, type LibraryToolsOptions } from './zotero/tools.ts';

export type DocumentToolsOptions = BuildToolOptions & LibraryToolsOptions;

export const documentTools = (options: DocumentToolsOptions): Tool[] => [
  buildTool(options),
  validateTool(options),
  ...libraryTools(options),
];
