/** What the tools of skills say to a model: every fact, in few words. What an author wrote in a line is quoted. */
import type { z } from 'zod';
import { formatBytes, quoteName, quoteShort } from '../../platform/text/text.ts';
import type { documentationShape, skillListShape, skillShape } from './schema.ts';

const maxSkillDescription = 1024;

export function describeSkillList({ skills, broken, tools }: z.input<typeof skillListShape>): string {
  return [
    skills.length === 0 ? 'There are no skills.' : 'Skills; read_skill shows what one says:',
    ...skills.map(
      (skill) =>
        `${skill.name} (${describeSkillOrigin(skill)}; ${skill.files} files): ${quoteShort(skill.description, maxSkillDescription)}`,
    ),
    ...broken.map(
      ({ name, origin, reason }) =>
        `Left out: ${quoteName(name)} (${origin}), since ${quoteShort(reason, maxSkillDescription)}`,
    ),
    ...(tools.length === 0 ? [] : ['Tools for code; read_docstring says how to use one:']),
    ...tools.map(
      ({ file, size, summary }) =>
        `${quoteName(file)}, ${formatBytes(size)}${summary === '' ? '' : `: ${quoteShort(summary, maxSkillDescription)}`}`,
    ),
  ].join('\n');
}

type SkillSummary = Pick<z.input<typeof skillShape>, 'origin' | 'replaces_shipped' | 'folder_in_runs'>;

const describeSkillOrigin = ({ origin, replaces_shipped, folder_in_runs }: SkillSummary): string =>
  [
    `${origin}${replaces_shipped ? ', instead of the one that comes with Workcrate' : ''}`,
    folder_in_runs === null ? 'not in runs' : `in runs ${folder_in_runs}`,
  ].join('; ');

const maxListedSkillFiles = 50;

/** A skill is there to be followed, so its text is given as it is. */
export function describeSkill(skill: z.input<typeof skillShape>): string {
  const { name, files, file, size, text, cut, folder_in_runs: folder } = skill;
  const others = files.filter(({ path }) => path !== file);
  const listed = others
    .slice(0, maxListedSkillFiles)
    .map((one) => `${quoteName(one.path)} (${formatBytes(one.size)})`);
  const more = others.length > listed.length ? ` and ${others.length - listed.length} more` : '';
  const inRuns = folder === null ? '' : ` Code reads it at ${quoteName(`${folder}/${file}`)}.`;
  return [
    `Skill ${name} (${describeSkillOrigin(skill)}): ${quoteShort(skill.description, maxSkillDescription)}`,
    ...(listed.length === 0 ? [] : [`Other files, for read_skill with file: ${listed.join(', ')}${more}`]),
    text === null
      ? `${quoteName(file)}, ${formatBytes(size)}, is not text.${inRuns}`
      : `--- ${quoteName(file)}, ${formatBytes(size)}${cut ? ', only its start' : ''} ---`,
    ...(text === null ? [] : [text.replace(/\n$/, '')]),
    ...(cut && folder !== null ? [inRuns.trim()] : []),
  ].join('\n');
}

export function describeDocumentation(documented: z.input<typeof documentationShape>): string {
  const { file, language, size, module, items, more, problem } = documented;
  return [
    `${quoteName(file)}, ${language}, ${formatBytes(size)}${module === '' ? '; it says nothing of itself.' : ':'}`,
    ...(module === '' ? [] : [module]),
    ...items.flatMap(({ kind, name, signature, doc, line }) => [
      `--- ${kind} ${name}, line ${line} ---`,
      signature,
      ...(doc === '' ? [] : [indentLines(doc)]),
    ]),
    ...(more === 0 ? [] : [`and ${more} more; name one with function.`]),
    ...(problem === null ? [] : [problem]),
  ].join('\n');
}

const indentLines = (text: string): string => `  ${text.replaceAll('\n', '\n  ')}`;
