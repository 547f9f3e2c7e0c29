import type { Config } from '../config/config.ts';
import { createLog } from '../observability/log.ts';
import { createSkills, shippedSkillsFolder } from '../skills/skills.ts';
import { escapeControls, quoteName } from '../text.ts';
import type { Finding } from './doctor.ts';

/** How many skills agents can use, and what is wrong with each of the others. */
export async function checkSkills({ skillsPath: own, toolsPath: tools }: Config): Promise<Finding[]> {
  const log = createLog('off');
  const { skills, broken } = await createSkills({ own, shipped: shippedSkillsFolder, tools, log }).list();
  const owned = skills.filter(({ origin }) => origin === 'own').length;
  return [
    { state: 'ok', what: `skills: ${skills.length - owned} that come with workcrate, ${owned} in ${own}` },
    ...broken.map(({ name, reason }): Finding => ({
      state: 'note',
      what: `the skill ${quoteName(name)} cannot be used`,
      remedy: escapeControls(reason),
    })),
  ];
}
