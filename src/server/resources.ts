/**
 * The one list of all kinds of resources, the extensions, and the prompts with what completes their arguments. Each kind is defined in
 * the `resources.ts` of its room, the prompts are in `prompts/`.
 */
import { createViewResources, createViewsExtension } from '../apps/apps.ts';
import { completeArtifactName, createArtifactResources } from '../artifacts/resources.ts';
import { createCrateResources } from '../crates/resources.ts';
import { completeExecutionId, createExecutionResources } from '../executions/resources.ts';
import { completeFileName, createFileResources } from '../files/resources.ts';
import type { Extension } from '../mcp/extension.ts';
import type { Prompt } from '../mcp/prompt.ts';
import type { ResourceKind } from '../mcp/resource.ts';
import type { Tool, ToolContext, ToolGroup } from '../mcp/tool.ts';
import { createPrompts } from '../prompts/prompts.ts';
import { createSkillsExtension } from '../skills/extension.ts';
import { createSkillResources } from '../skills/resources.ts';
import { describeSkills } from '../skills/tools.ts';
import type { ToolsOptions } from './tools.ts';

export type ResourceRooms = Pick<ToolsOptions, 'artifacts' | 'files' | 'executions' | 'crates' | 'skills'>;

/** The kinds of the groups that are switched on. `tools` are those groups' tools: some resources read as one answers. */
export function selectResources(
  { artifacts, files, executions, crates, skills }: ResourceRooms,
  tools: readonly Tool[],
): ResourceKind[] {
  const getExecution = findTool(tools, 'get_execution');
  const getCrate = findTool(tools, 'get_crate');
  const kinds = [
    createArtifactResources(artifacts),
    createFileResources(files),
    ...(getExecution === undefined ? [] : [createExecutionResources(executions, getExecution)]),
    ...(getCrate === undefined ? [] : createCrateResources(crates, getCrate)),
    createSkillResources(skills),
    createViewResources(),
  ];
  return kinds.filter(({ group }) => isSwitchedOn(group, tools));
}

/** What belongs to no group is always there. */
const isSwitchedOn = (group: ToolGroup | null, tools: readonly Tool[]): boolean =>
  group === null || tools.some((tool) => tool.group === group);

const findTool = (tools: readonly Tool[], name: string): Tool | undefined =>
  tools.find((tool) => tool.name === name);

/** The extensions of the protocol, of the groups that are switched on. */
export const selectExtensions = ({ skills }: ResourceRooms, tools: readonly Tool[]): Extension[] =>
  [createSkillsExtension(skills), createViewsExtension()].filter(({ group }) => isSwitchedOn(group, tools));

/** Nothing is offered of groups that are switched off, or that the caller's key may not use. */
export function createAllPrompts(
  { artifacts, files, executions, skills }: ResourceRooms,
  tools: readonly Tool[],
): Prompt[] {
  const isOn = (group: ToolGroup, { mayUse }: ToolContext): boolean =>
    mayUse(group) && isSwitchedOn(group, tools);
  return createPrompts({
    completeFileName: async (begun, context) => [
      ...(isOn('artifacts', context) ? await completeArtifactName(artifacts, context.caller, begun) : []),
      ...(isOn('files', context) ? await completeFileName(files, context.caller, begun) : []),
    ],
    completeExecutionId: async (begun, context) =>
      isOn('code', context) ? completeExecutionId(executions, context.caller, begun) : [],
    describeSkills: () => describeSkills(skills),
  });
}
