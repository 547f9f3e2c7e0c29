/**
 * The list of this room's tools. Each of them writes its own audit lines, with every path, so the common wrapper
 * leaves them alone. The tools themselves are in `tools/` and `cache/tools.ts`.
 */
import type { Audit } from '../../core/audit/audit.ts';
import type { Tool } from '../../core/offer/tool.ts';
import type { ClientCache } from './cache/cache.ts';
import { createGuideCacheFileTool } from './cache/tools.ts';
import type { ClientFiles } from './client-files.ts';
import { createListTool, type ListToolOptions } from './tools/list.ts';
import { createReadTool, type ReadToolOptions } from './tools/read.ts';

export type ReadAndListOptions = ReadToolOptions & ListToolOptions;

export interface ClientToolsOptions extends ReadAndListOptions {
  readonly bridge: ClientFiles;
  readonly cache: ClientCache;
  readonly audit: Audit;
}

/** Tools that have files of the client's. */
export function createReadAndListTools(options: ReadAndListOptions): Tool[] {
  return [createReadTool(options), createListTool(options)];
}

/** These, and the one by which a client gives files. All write their own lines, with each path. */
export function createClientTools(options: ClientToolsOptions): Tool[] {
  const { bridge, cache, audit } = options;
  const noted = createReadAndListTools(options);
  const { policyFor, forgetKept } = bridge;
  const given = createGuideCacheFileTool({ cache, audit, policyFor, forgetKept });
  return [...noted, given].map((tool) => ({ ...tool, auditsItself: true }));
}
