import type { ServerConfig as Config } from '../server/settings.ts';
import { createLog } from '../platform/observability/log.ts';
import { createSkills, shippedSkillsFolder } from '../features/skills/skills.ts';
import { escapeControls, quoteName } from '../platform/text/text.ts';
import type { Finding } from '../core/command.ts';

/** How many skills agents can use, and what is wrong with each of the others. */
export async function checkSkills(config: Config): Promise<Finding[]> {
  const { skillsPath: own, toolsPath: tools, replaceSkills: replaceable } = config;
  const log = createLog('off');
  const runProgram = () => Promise.reject(new Error('the list of skills needs no program'));
  const room = createSkills({ own, shipped: shippedSkillsFolder, tools, replaceable, runProgram, log });
  const { skills, broken } = await room.list();
  const owned = skills.filter(({ origin }) => origin === 'own').length;
  return [
    {
      state: 'ok',
      what: `skills: ${skills.length - owned} that come with workcrate, ${owned} in ${own ?? 'no folder'}`,
    },
    ...broken.map(({ name, reason }): Finding => ({
      state: 'note',
      what: `the skill ${quoteName(name)} cannot be used`,
      remedy: escapeControls(reason),
    })),
  ];
}
