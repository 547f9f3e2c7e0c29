/**
 * The kinds of resources of the core and of what is no feature yet, and the choice of those whose group is switched on.
 * Each kind is defined in the `resources.ts` of its room.
 */
import { createViewResources } from '../features/apps/apps.ts';
import { createArtifactResources } from '../core/artifacts/resources.ts';
import { createCrateResources } from '../features/crates/resources.ts';
import { createExecutionResources } from '../core/runs/resources.ts';
import { createFileResources } from '../core/files/resources.ts';
import type { ResourceKind } from '../core/offer/resource.ts';
import type { Tool, ToolGroup } from '../core/offer/tool.ts';
import type { ToolsOptions } from './tools.ts';

export type ResourceRooms = Pick<ToolsOptions, 'artifacts' | 'files' | 'executions' | 'crates'>;

/** The kinds of rooms that are no features. `tools` are those that are offered: some resources read as one answers. */
export function listRoomResources(
  { artifacts, files, executions, crates }: ResourceRooms,
  tools: readonly Tool[],
): ResourceKind[] {
  const getExecution = findTool(tools, 'get_execution');
  const getCrate = findTool(tools, 'get_crate');
  return [
    createArtifactResources(artifacts),
    createFileResources(files),
    ...(getExecution === undefined ? [] : [createExecutionResources(executions, getExecution)]),
    ...(getCrate === undefined ? [] : createCrateResources(crates, getCrate)),
    createViewResources(),
  ];
}

/** What belongs to no group is always there. */
export const isSwitchedOn = (group: ToolGroup | null, tools: readonly Tool[]): boolean =>
  group === null || tools.some((tool) => tool.group === group);

const findTool = (tools: readonly Tool[], name: string): Tool | undefined =>
  tools.find((tool) => tool.name === name);
