/**
 * The one list of all tools, and the choice of groups by `--tools`. Each tool is defined in the `tools.ts` of its room;
 * which of them a key may call is decided in `mcp/`.
 */
import { createArtifactTools, type ArtifactToolsOptions } from '../artifacts/tools.ts';
import { createAuditTools } from '../audit/tools.ts';
import { createClientTools, type ClientToolsOptions } from '../client-files/tools.ts';
import { createCrateTools, type CrateToolsOptions } from '../crates/tools.ts';
import { documentTools, type DocumentToolsOptions } from '../documents/tools.ts';
import { WorkcrateError } from '../errors.ts';
import { createExecutionTools, type ExecutionToolsOptions } from '../executions/tools.ts';
import { fileTools } from '../files/tools.ts';
import { linkTools, type LinkToolsOptions } from '../links/tools.ts';
import { toolGroups, type Tool } from '../mcp/tool.ts';

export type ToolsOptions = LinkToolsOptions &
  ExecutionToolsOptions &
  ArtifactToolsOptions &
  CrateToolsOptions &
  DocumentToolsOptions &
  ClientToolsOptions & {
    /** Where the audit log is, and its key. */
    readonly auditLog: { readonly folder: string; readonly key: string | null };
  };

/** Every tool there is. */
function listAllTools(options: ToolsOptions): Tool[] {
  return [
    ...createExecutionTools(options),
    ...createArtifactTools(options),
    ...linkTools(options),
    ...fileTools(options.files),
    ...createCrateTools(options),
    ...documentTools(options),
    ...createClientTools(options),
    ...createAuditTools(options.auditLog),
  ];
}

/** The tools of the groups that are switched on. A group that does not exist is an error. */
export function selectTools(options: ToolsOptions, groups: readonly string[]): Tool[] {
  const tools = listAllTools(options);
  const known: readonly string[] = toolGroups;
  const unknown = groups.filter((group) => group !== 'all' && !known.includes(group));
  if (unknown.length > 0)
    throw new WorkcrateError(
      'config_invalid',
      `There is no group of tools ${unknown.join(', ')}. There are: all, ${known.join(', ')}.`,
    );
  return groups.includes('all') ? tools : tools.filter((tool) => groups.includes(tool.group));
}
