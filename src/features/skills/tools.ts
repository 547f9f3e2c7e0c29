/**
 * The tools `list_skills`, `read_skill` and `read_docstring`, and a prompt, for clients that do not know the extension for
 * skills (`extension.ts`). They translate between MCP and `skills.ts`.
 */
import { z } from 'zod';
import { WorkcrateError } from '../../platform/errors.ts';
import { makeText } from '../../core/offer/schema.ts';
import { quoteValue, writeSteps, type DeclaredPrompt } from '../../core/offer/prompt.ts';
import { declareTool, type DeclaredTool } from '../../core/offer/tool.ts';
import {
  documentationShape,
  showDocumentation,
  showSkill,
  showSkillList,
  skillListShape,
  skillShape,
} from './schema.ts';
import type { DocumentedFile, DocumentedItem } from './skill.ts';
import type { Skills } from './skills.ts';
import { describeDocumentation, describeSkill, describeSkillList } from './text.ts';

const readOnlyAnnotations = { readOnlyHint: true, openWorldHint: false };

const listEverything = async (skills: Skills) => showSkillList(await skills.list(), await skills.listTools());

const describeSkills = async (skills: Skills): Promise<string> =>
  describeSkillList(await listEverything(skills));

const listSkillsTool = declareTool({
  name: 'list_skills',
  group: 'skills',
  title: 'List skills',
  description:
    'Lists skills, which say how to do a kind of task well here, and the tools that code finds in /tools.',
  searchHint: 'guidance, how to, instructions',
  input: z.strictObject({}),
  output: skillListShape,
  annotations: readOnlyAnnotations,
  auditFields: { subject: [] },
  async handle(skills: Skills) {
    const structured = await listEverything(skills);
    return { text: describeSkillList(structured), structured };
  },
});

const readTool = declareTool({
  name: 'read_skill',
  group: 'skills',
  title: 'Read a skill',
  description: 'Shows what a skill says, or another of its files.',
  input: z.strictObject({
    name: makeText(64),
    file: makeText(4096, 'Default: SKILL.md').optional(),
  }),
  output: skillShape,
  annotations: readOnlyAnnotations,
  auditFields: { subject: ['name'] },
  async handle(skills: Skills, { name, file = 'SKILL.md' }) {
    const structured = showSkill(await skills.read(name, file));
    return { text: describeSkill(structured), structured };
  },
});

const docstringTool = declareTool({
  name: 'read_docstring',
  group: 'skills',
  title: 'Read the documentation of a tool',
  description:
    'Shows the documentation and signatures of a Python, JavaScript or TypeScript file, without running it.',
  input: z.strictObject({
    file: makeText(4096, 'In /tools, or /skills/NAME/…'),
    function: makeText(200, 'Only this one, in full: a function, Class or Class.method').optional(),
  }),
  output: documentationShape,
  annotations: readOnlyAnnotations,
  auditFields: { subject: ['file'] },
  async handle(skills: Skills, { file, function: name }, { caller, signal }) {
    const documented = await skills.document(file, { caller, signal });
    const structured = showDocumentation(documented, name === undefined ? null : findItems(documented, name));
    return { text: describeDocumentation(structured), structured };
  },
});

const maxNamedSkills = 50;

/** By the whole name, or by the last part of it. An overloaded function has several. */
function findItems({ items }: DocumentedFile, name: string): DocumentedItem[] {
  const exact = items.filter((item) => item.name === name);
  const found = exact.length > 0 ? exact : items.filter((item) => item.name.endsWith(`.${name}`));
  if (found.length > 0) return found;
  const names = items.slice(0, maxNamedSkills).map((item) => item.name);
  const more = items.length > maxNamedSkills ? ` and ${items.length - maxNamedSkills} more` : '';
  throw new WorkcrateError(
    'not_found',
    `The file has nothing of this name. It has: ${names.join(', ') || 'nothing'}${more}.`,
  );
}

export const skillTools: readonly DeclaredTool<Skills>[] = [listSkillsTool, readTool, docstringTool];

/** The prompt by which a person tells an agent to work by the skills. */
export const useSkillsPrompt: DeclaredPrompt<Skills> = {
  name: 'use_skills',
  title: 'Use the skills here',
  description: 'Tells the agent which skills and tools are here, and to work by them',
  arguments: [{ name: 'task', description: 'What to do; only a look round if left out', required: false }],
  needs: ['list_skills', 'read_skill'],
  write: ({ task }, has) =>
    writeSteps(
      task === undefined
        ? 'See which skills and tools are here, and use them from now on.'
        : `Do this with the skills that are here: ${quoteValue(task)}`,
      [
        { text: 'Below is what list_skills says. Choose the skill whose description fits best.' },
        { text: 'Call read_skill and follow it step by step. Read its other files when it says so.' },
        {
          names: ['read_docstring'],
          text: 'Before code uses a file of /tools, call read_docstring for it: do not guess its arguments.',
        },
        { text: 'If no skill fits, say so and go on without one.' },
      ],
      has,
    ),
  addFacts: describeSkills,
};
