/**
 * The one list of all tools, and the choice of groups by `--tools`. Each tool is defined in the `tools.ts` of its room;
 * which of them a key may call is decided in `surfaces/mcp/`.
 */
import { addViews } from '../features/apps/apps.ts';
import { createViewTools, type ViewToolsOptions } from '../features/apps/tools.ts';
import { createArtifactTools, type ArtifactToolsOptions } from '../core/artifacts/tools.ts';
import { createAuditTools } from '../core/audit/tools.ts';
import { createClientTools, type ClientToolsOptions } from '../features/client-files/tools.ts';
import { createValidationTools, type ValidationToolsOptions } from '../features/crate-validation/tools.ts';
import { createCrateTools, type CrateToolsOptions } from '../features/crates/tools.ts';
import { documentTools, type DocumentToolsOptions } from '../features/documents/tools.ts';
import { WorkcrateError } from '../platform/errors.ts';
import { createExecutionTools } from '../core/runs/tools.ts';
import { fileTools } from '../core/files/tools.ts';
import { packageTools, type PackagesRoom } from '../features/packages/tools.ts';
import { createPackTools, type PackToolsOptions } from '../features/packing/tools.ts';
import { linkTools, type LinkToolsOptions } from '../core/links/tools.ts';
import { declareScriptTools, type ScriptsRoom } from '../features/scripts/tools.ts';
import { createSessionTools, type SessionToolsOptions } from '../core/runs/sessions/tools.ts';
import { bindTool, furtherGroups, operatorGroup, toolGroups, type Tool } from '../core/offer/tool.ts';

export type ToolsOptions = LinkToolsOptions &
  SessionToolsOptions &
  Omit<PackagesRoom, 'packages'> &
  ScriptsRoom &
  ArtifactToolsOptions &
  CrateToolsOptions &
  PackToolsOptions &
  ValidationToolsOptions &
  DocumentToolsOptions &
  ClientToolsOptions &
  ViewToolsOptions & {
    /** Null where nobody may install anything. */
    readonly packages: PackagesRoom['packages'] | null;
    /** Where the audit log is, and its key. */
    readonly auditLog: { readonly folder: string; readonly key: string | null };
  };

/** Every tool there is; those of features are given. */
function listAllTools(options: ToolsOptions, ofFeatures: readonly Tool[]): Tool[] {
  const { packages, detachMs } = options;
  return addViews([
    ...createExecutionTools(options),
    ...createSessionTools(options),
    ...(packages === null ? [] : packageTools.map((tool) => bindTool(tool, { packages, detachMs }))),
    ...declareScriptTools(options).map((tool) => bindTool(tool, options)),
    ...createArtifactTools(options),
    ...linkTools(options),
    ...fileTools(options.files),
    ...createCrateTools(options),
    ...createPackTools(options),
    ...createValidationTools(options),
    ...documentTools(options),
    ...createClientTools(options),
    ...ofFeatures,
    ...createAuditTools(options.auditLog),
    ...createViewTools(options),
  ]);
}

export interface ChosenGroups {
  /** Names of groups, `default` or `all`. */
  readonly groups: readonly string[];
  /** Whether callers sign in, so that operators can be told from others: only they see their tools then. */
  readonly knowsOperators: boolean;
}

export interface SelectedTools {
  /** Those of the groups that are switched on. */
  readonly tools: readonly Tool[];
  /** Those of all groups, for whoever calls tools that are not listed. */
  readonly everyTool: readonly Tool[];
}

/** The tools of the groups that are switched on, among all. A group that does not exist is an error. */
export function selectTools(
  options: ToolsOptions,
  chosen: ChosenGroups,
  ofFeatures: readonly Tool[],
): SelectedTools {
  const wanted = chooseGroups(chosen);
  const everyTool = listAllTools(options, ofFeatures);
  return { tools: everyTool.filter((tool) => wanted.has(tool.group)), everyTool };
}

/** The groups that are switched on. Refuses one that does not exist. */
export function chooseGroups({ groups, knowsOperators }: ChosenGroups): ReadonlySet<string> {
  const every: readonly string[] = [...toolGroups, ...furtherGroups, operatorGroup];
  const sets: Readonly<Record<string, readonly string[]>> = {
    all: every,
    default: knowsOperators ? [...toolGroups, operatorGroup] : toolGroups,
  };
  const unknown = groups.filter((group) => !(group in sets) && !every.includes(group));
  if (unknown.length > 0)
    throw new WorkcrateError(
      'config_invalid',
      `There is no group of tools ${unknown.join(', ')}. There are: default, all, ${every.join(', ')}.`,
    );
  return new Set(groups.flatMap((group) => sets[group] ?? [group]));
}
