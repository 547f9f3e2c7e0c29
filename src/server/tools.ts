/**
 * What the core offers to clients, the order of tools, and the choice of groups by `--tools`. Each tool is declared in the
 * `tools.ts` of its room, features list their own; which of them a key may call is decided in `surfaces/mcp/`.
 */
import { artifactResources } from '../core/artifacts/resources.ts';
import { declareArtifactTools, type ArtifactsRoom } from '../core/artifacts/tools.ts';
import { auditTools, type AuditRoom } from '../core/audit/tools.ts';
import type { Declared } from '../core/feature.ts';
import { fileResources } from '../core/files/resources.ts';
import { fileTools } from '../core/files/tools.ts';
import type { LinkTermBounds } from '../core/links/link-result.ts';
import { declareLinkTools, type LinksRoom } from '../core/links/tools.ts';
import { executionResources } from '../core/runs/resources.ts';
import { declareSessionTools, type SessionsRoom } from '../core/runs/sessions/tools.ts';
import { declareExecutionTools, type RunTerms } from '../core/runs/tools.ts';
import { WorkcrateError } from '../platform/errors.ts';
import { packageTools, type PackagesRoom } from '../features/packages/tools.ts';
import { declareScriptTools, type ScriptsRoom } from '../features/scripts/tools.ts';
import { furtherGroups, operatorGroup, toolGroups, type Tool } from '../core/offer/tool.ts';

export type CoreRoom = LinksRoom & SessionsRoom & ArtifactsRoom & ScriptsRoom & PackagesRoom & AuditRoom;

export interface CoreTerms extends RunTerms, LinkTermBounds {
  /** Whether anybody may install packages. */
  readonly mayInstall: boolean;
}

/** What the core and what is no feature yet tell clients, and how they answer once their rooms are open. */
export const declareCore = (terms: CoreTerms): Declared<CoreRoom> => ({
  tools: [
    ...declareExecutionTools(terms),
    ...declareSessionTools(terms),
    ...(terms.mayInstall ? packageTools : []),
    ...declareScriptTools(terms),
    ...declareArtifactTools(terms),
    ...declareLinkTools(terms),
    ...fileTools,
    ...auditTools,
  ],
  resources: [artifactResources, fileResources, executionResources],
});

/** Tools of one group together, in the order of groups; those for views are last. */
export function sortByGroup(tools: readonly Tool[]): Tool[] {
  const groups: readonly string[] = [...toolGroups, ...furtherGroups, operatorGroup];
  const toPlace = ({ group, isForViews = false }: Tool): number =>
    groups.indexOf(group) + (isForViews ? groups.length : 0);
  return tools.toSorted((one, other) => toPlace(one) - toPlace(other));
}

export interface ChosenGroups {
  /** Names of groups, `default` or `all`. */
  readonly groups: readonly string[];
  /** Whether callers sign in, so that operators can be told from others: only they see their tools then. */
  readonly knowsOperators: boolean;
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
