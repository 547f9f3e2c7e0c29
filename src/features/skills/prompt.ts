import { quoteValue, writeSteps, type DeclaredPrompt } from '../../core/offer/prompt.ts';
import type { Skills } from './skills.ts';
import { describeSkills } from './tools.ts';

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
