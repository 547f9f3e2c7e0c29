/**
 * The MCP extension for skills (SEP-2640): `skills/list`, `skills/get` and `resources/directory/read`. The files
 * themselves are read as resources (`resources.ts`). What a skill is, is judged in `scan.ts`.
 */
import { WorkcrateError } from '../../platform/errors.ts';
import { guessMediaType } from '../../core/files/files.ts';
import type { DeclaredExtension, MethodParams } from '../../core/offer/extension.ts';
import type { FoundSkill } from './skill.ts';
import type { Skills } from './skills.ts';

const pageSize = 100;

export const skillsExtension: DeclaredExtension<Skills> = {
  name: 'io.modelcontextprotocol/skills',
  settings: { directoryRead: true },
  group: 'skills',
  methods: [
    {
      name: 'skills/list',
      async handle(skills, { cursor }) {
        const { skills: found } = await skills.list();
        const { items, nextCursor } = takePage(found, cursor, ({ name }) => name);
        return { skills: items.map(({ entry }) => entry), ...nextCursor };
      },
    },
    {
      name: 'skills/get',
      async handle(skills, params) {
        const uri = checkUri(params);
        const { skills: found } = await skills.list();
        const skill = found.find(({ entry }) => entry.uri === uri);
        if (skill === undefined) throw new WorkcrateError('not_found', 'There is no skill with this URI.');
        return { skill: skill.entry };
      },
    },
    {
      name: 'resources/directory/read',
      async handle(skills, params) {
        const uri = checkUri(params).replace(/\/$/, '');
        const { skills: found } = await skills.list();
        const children = listChildren(found, uri);
        if (children.length === 0)
          throw new WorkcrateError('not_found', 'There is no folder of a skill with this URI.');
        const { items, nextCursor } = takePage(children, params.cursor, (child) => child.uri);
        return { resources: items, ...nextCursor };
      },
    },
  ],
};

function checkUri({ uri }: MethodParams): string {
  if (uri === undefined) throw new WorkcrateError('invalid_input', 'uri is missing.');
  return URL.canParse(uri) ? new URL(uri).href : uri;
}

interface Child {
  readonly [key: string]: unknown;
  readonly uri: string;
  readonly name: string;
  readonly mimeType: string;
  readonly size?: number;
}

const folderType = 'inode/directory';

/** What is directly in a folder; nothing where it is none. Every folder of a skill has a file somewhere below it. */
function listChildren(skills: readonly FoundSkill[], folder: string): Child[] {
  const children = new Map<string, Child>();
  for (const { entry } of skills) {
    const root = entry.uri.slice(0, -'/SKILL.md'.length);
    if (entry.resources === 'dynamic' || !`${folder}/`.startsWith(`${root}/`)) continue;
    for (const { uri, size } of entry.resources) {
      if (!uri.startsWith(`${folder}/`)) continue;
      const [first = '', ...rest] = uri.slice(folder.length + 1).split('/');
      const name = decodeURIComponent(first);
      const child = `${folder}/${first}`;
      children.set(
        child,
        rest.length > 0
          ? { uri: child, name, mimeType: folderType }
          : { uri, name, mimeType: guessMediaType(name), size },
      );
    }
  }
  return [...children.values()].toSorted((a, b) => (a.uri < b.uri ? -1 : 1));
}

/** The part of a sorted list behind a cursor, which is the key of the last one before. */
function takePage<Item>(
  all: readonly Item[],
  cursor: string | undefined,
  toKey: (item: Item) => string,
): { readonly items: readonly Item[]; readonly nextCursor: { readonly nextCursor?: string } } {
  const after = cursor === undefined ? null : Buffer.from(cursor, 'base64url').toString();
  const left = all.filter((item) => after === null || toKey(item) > after);
  const items = left.slice(0, pageSize);
  const last = items.at(-1);
  const isMore = left.length > pageSize && last !== undefined;
  return { items, nextCursor: isMore ? { nextCursor: Buffer.from(toKey(last)).toString('base64url') } : {} };
}
