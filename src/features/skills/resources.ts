/**
 * The files of skills as MCP resources: `skill://NAME/SKILL.md`. Clients that know the extension for skills check their
 * digests, so each is given whole and byte for byte; a skill is bounded as a whole.
 */
import { guessMediaType } from '../../core/files/files.ts';
import { beginsWith, type DeclaredResources, type ResourceBody } from '../../core/offer/resource.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { decodeSkillText } from './schema.ts';
import type { Skills } from './skills.ts';

export const skillResources: DeclaredResources<Skills> = {
  name: 'skill',
  group: 'skills',
  title: 'Skill',
  description:
    'A file of a skill, by the name of the skill and the path of the file. list_skills lists them.',
  template: 'skill://{+path}',

  async list(skills, { after, limit }) {
    const all = (await skills.list()).skills.filter(({ name }) => after === null || name > after);
    const page = all.slice(0, limit);
    const resources = page.map(({ name, description, files }) => ({
      variables: { path: `${name}/SKILL.md` },
      name,
      description,
      mimeType: 'text/markdown',
      size: files.find(({ path }) => path === 'SKILL.md')?.size ?? 0,
    }));
    return { resources, next: all.length > limit ? page.at(-1)!.name : null };
  },

  async read(skills, { path = '' }): Promise<ResourceBody> {
    const slash = path.indexOf('/');
    if (slash === -1) throw new WorkcrateError('not_found', 'Name a file of the skill, such as SKILL.md.');
    const { bytes } = await skills.read(path.slice(0, slash), path.slice(slash + 1));
    const mimeType = guessMediaType(path);
    const text = decodeSkillText(bytes);
    return text === null ? { mimeType, blob: bytes.toString('base64') } : { mimeType, text };
  },

  async complete(skills, _variable, begun) {
    const { skills: found } = await skills.list();
    const paths = found.flatMap(({ name, files }) => files.map(({ path }) => `${name}/${path}`));
    return paths.filter((path) => beginsWith(path, begun));
  },
};
