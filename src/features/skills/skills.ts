/**
 * Skills: guidance for agents, in folders with a SKILL.md. This door lists them, those of the operator and those that come
 * with Workcrate, reads their files, and reads the documentation of tools in `--tools-path`. Whatever changes in the
 * folders is seen at the next call. It runs nothing, and mounts nothing into runs (`ports/sandbox/` does).
 */
import { join } from 'node:path';
import type { RunProgram } from '../../core/runs/run-program.ts';
import { shareNextTurn } from '../../platform/concurrency/shared-turn.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import { quoteName } from '../../platform/text/text.ts';
import { createSkillScanner, readSkillFile } from './scan.ts';
import type {
  DocumentedFile,
  FoundSkill,
  LeftOutSkill,
  ScannedFolder,
  ScannedSkill,
  SkillContent,
  SkillList,
  ToolFile,
} from './skill.ts';
import { createToolFiles, type DocumentationRequest } from './tool-files.ts';

/** Where the skills that come with Workcrate are, in the checkout and in the package. */
export const shippedSkillsFolder = join(import.meta.dirname, 'shipped');

export interface SkillsOptions {
  /** The folder of the operator, which is /skills in runs; it need not exist. Null for none. */
  readonly own: string | null;
  /** The folder of those that come with Workcrate. */
  readonly shipped: string;
  /** The folder that is /tools in runs; it need not exist. Null for none. */
  readonly tools: string | null;
  /** The shipped skills that those of the operator may replace, by name. */
  readonly replaceable: readonly string[];
  /** Reads the documentation of Python. */
  readonly runProgram: RunProgram;
  readonly log: Log;
}

export type Skills = ReturnType<typeof createSkills>;

export function createSkills({ own, shipped, tools, replaceable, runProgram, log }: SkillsOptions) {
  const scanners = { own: createSkillScanner(own), shipped: createSkillScanner(shipped) };
  const toolFiles = createToolFiles(tools, runProgram);
  let told = '';

  /** One at a time: a scan may hold a whole skill in memory. */
  const list = shareNextTurn(async (): Promise<SkillList> => {
    const found = joinSkills(
      await scanners.own.scan(),
      own === shipped ? { skills: [], broken: [] } : await scanners.shipped.scan(),
      new Set(replaceable),
    );
    logBroken(found.broken);
    return found;
  });

  /** Once, and again when it is another. */
  function logBroken(broken: readonly LeftOutSkill[]): void {
    const now = JSON.stringify(broken);
    if (now === told) return;
    told = now;
    for (const { name, origin, reason } of broken) log.warn('skills.left_out', { name, origin, reason });
  }

  async function find(name: string): Promise<FoundSkill> {
    const { skills, broken } = await list();
    const found = skills.find((one) => one.name === name);
    if (found !== undefined) return found;
    const wrong = broken.find((one) => one.name === name);
    throw wrong === undefined ? unknownSkillError(skills) : brokenSkillError(wrong);
  }

  async function read(name: string, path: string): Promise<SkillContent> {
    const skill = await find(name);
    if (!skill.files.some((one) => one.path === path)) throw createUnknownSkillFileError(skill);
    return { skill, path, bytes: await readSkillFile(scanners[skill.origin].open(), name, path) };
  }

  return {
    /** What there is now, and what is wrong with the rest. */
    list,

    /** The skill of this name; `not_found` where there is none. */
    find,

    /** One file of a skill. */
    read,

    /** The files in the folder of tools whose documentation can be read. */
    listTools: (): Promise<readonly ToolFile[]> => toolFiles.list(),

    /** The documentation of a file in /tools, or of one in /skills. */
    async document(file: string, request: DocumentationRequest): Promise<DocumentedFile> {
      const [, name, path] = /^\/skills\/([^/]+)\/(.+)$/.exec(file) ?? [];
      if (name === undefined || path === undefined) return toolFiles.document(file, request);
      const { bytes } = await read(name, path);
      return toolFiles.documentBytes(file, bytes, request);
    },
  };
}

/** A skill of the operator takes the place of a shipped one only where the operator says so. */
function joinSkills(own: ScannedFolder, shipped: ScannedFolder, replaceable: ReadonlySet<string>): SkillList {
  const shippedNames = new Set(shipped.skills.map(({ name }) => name));
  const isTaken = ({ name }: ScannedSkill): boolean => shippedNames.has(name) && !replaceable.has(name);
  const owned = own.skills
    .filter((skill) => !isTaken(skill))
    .map((skill): FoundSkill => ({
      ...skill,
      origin: 'own',
      replacesShipped: shippedNames.has(skill.name),
      folderInRuns: `/skills/${skill.name}`,
    }));
  const ownNames = new Set(owned.map(({ name }) => name));
  const others = shipped.skills
    .filter(({ name }) => !ownNames.has(name))
    .map((skill): FoundSkill => ({
      ...skill,
      origin: 'shipped',
      replacesShipped: false,
      folderInRuns: null,
    }));
  return {
    skills: [...owned, ...others].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    broken: [
      ...own.broken.map((one) => ({ ...one, origin: 'own' as const })),
      ...own.skills
        .filter(isTaken)
        .map(({ name }) => ({ name, reason: takenReason(name), origin: 'own' as const })),
      ...shipped.broken.map((one) => ({ ...one, origin: 'shipped' as const })),
    ],
  };
}

const takenReason = (name: string): string =>
  `A skill of this name comes with Workcrate, and that one is used. Rename yours, or start with --replace-skills ${name}.`;

const maxNamedFilesOfSkill = 50;

function unknownSkillError(skills: readonly FoundSkill[]): WorkcrateError {
  const names = skills.slice(0, maxNamedFilesOfSkill).map(({ name }) => name);
  return new WorkcrateError('not_found', `There is no such skill. There are: ${names.join(', ') || 'none'}.`);
}

function brokenSkillError({ name, reason }: LeftOutSkill): WorkcrateError {
  return new WorkcrateError(
    'not_found',
    `The skill ${quoteName(name)} cannot be used: ${quoteName(reason)} Its author has to mend it.`,
  );
}

function createUnknownSkillFileError({ name, files }: FoundSkill): WorkcrateError {
  const named = files.slice(0, maxNamedFilesOfSkill).map(({ path }) => quoteName(path));
  const more = files.length > maxNamedFilesOfSkill ? ` and ${files.length - maxNamedFilesOfSkill} more` : '';
  return new WorkcrateError(
    'not_found',
    `The skill ${name} has no such file. It has: ${named.join(', ')}${more}.`,
  );
}
