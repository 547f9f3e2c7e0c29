import { list } from '../../platform/config/kinds.ts';
import { defineSetting } from '../../platform/config/setting.ts';
import { defineFeature, type OpenFeature } from '../../core/feature.ts';
import type { Skills } from './skills.ts';

export const skills = defineFeature({
  name: 'skills',
  settings: {
    replaceSkills: defineSetting(
      list,
      [],
      'skills that come with workcrate, by name, which those of the same name in --skills-path replace',
      { after: 'skillsPath' },
    ),
  },

  async declare() {
    const { skillTools, useSkillsPrompt } = await import('./tools.ts');
    const { skillResources } = await import('./resources.ts');
    const { skillsExtension } = await import('./extension.ts');
    return {
      tools: skillTools,
      resources: [skillResources],
      extensions: [skillsExtension],
      prompts: [useSkillsPrompt],
    };
  },

  /** What is wrong with a skill is logged at the start, and nobody waits for that. */
  async open({ folders, runProgram, log }, { replaceSkills: replaceable }): Promise<OpenFeature<Skills>> {
    const { createSkills, shippedSkillsFolder } = await import('./skills.ts');
    const { createSkillRoutes } = await import('./route.ts');
    const { skills: own, tools } = folders;
    const room = createSkills({ own, shipped: shippedSkillsFolder, tools, replaceable, runProgram, log });
    room.list().catch((error: unknown) => log.error('skills.not_listed', { error }));
    return { room, routes: (web) => createSkillRoutes(room, web) };
  },
});
