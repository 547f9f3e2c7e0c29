/**
 * The list of this room's tools. Each of them writes its own audit lines, with every path, so the common wrapper
 * leaves them alone. The tools themselves are in `tools/` and `cache/tools.ts`.
 */
import type { Audit } from '../audit/audit.ts';
import type { Tool } from '../mcp/tool.ts';
import type { ClientCache } from './cache/cache.ts';
import { guideTools } from './cache/tools.ts';
import type { Bridge } from './client-files.ts';
import { listTool, type ListToolOptions } from './tools/list.ts';
import { readTool, type ReadToolOptions } from './tools/read.ts';

export type BridgeToolsOptions = ReadToolOptions & ListToolOptions;

export interface ClientToolsOptions extends BridgeToolsOptions {
  readonly bridge: Bridge;
  readonly cache: ClientCache;
  readonly audit: Audit;
}

/** Tools that have files of the client's. */
export function bridgeTools(options: BridgeToolsOptions): Tool[] {
  return [readTool(options), listTool(options)];
}

/** These, and those that see to what is remembered. All write their own lines, with each path. */
export function clientTools(options: ClientToolsOptions): Tool[] {
  const { bridge, cache, audit } = options;
  const noted = bridgeTools(options);
  const given = guideTools({ cache, audit, policyFor: bridge.policyFor, forgetKept: bridge.forgetKept });
  return [...noted, ...given].map((tool) => ({ ...tool, auditsItself: true }));
}
