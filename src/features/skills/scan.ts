/**
 * Finds the skills in a folder: each is a folder with a SKILL.md. What is wrong with one is told, and keeps nobody from
 * the others. Everything is bounded before a byte is read; a skill that has not changed is not read again. It follows no
 * link, and whose skill wins where two have a name is decided in `skills.ts`.
 */
import { SKILL_LIMITS, SkillCatalogError, skillEntry } from '@modelcontextprotocol/server/ext/skills';
import { runInSlices } from '../../platform/concurrency/yield.ts';
import { isWorkcrateError } from '../../platform/errors.ts';
import {
  joinComponents,
  openPublicFolder,
  parseName,
  readOpenFile,
  type FolderRoot,
  type TreeEnd,
} from '../../platform/paths/paths.ts';
import { collectBytes } from '../../platform/streams.ts';
import { formatBytes } from '../../platform/text/text.ts';
import type { BrokenSkill, ScannedFolder, ScannedSkill, SkillFile } from './skill.ts';

export interface SkillScanner {
  /** Its folder; none that is not to be read (`findPublicFolder`). */
  open(): FolderRoot;
  scan(): Promise<ScannedFolder>;
}

/** More are left out, and that is told. */
const maxSkills = 200;
const maxSkillFolderEntries = 5000;
const maxSkillDepth = 16;
/** Folders are entries too. */
const maxSkillTreeEntries = 2 * SKILL_LIMITS.files;

interface ReadSkill {
  /** Changes whenever a file does. */
  readonly stamp: string;
  readonly outcome: ScannedSkill | BrokenSkill;
}

export function createSkillScanner(directory: string | null): SkillScanner {
  const open = (): FolderRoot => openPublicFolder(directory, '--skills-path', maxSkillFolderEntries);
  let known: ReadonlyMap<string, ReadSkill> = new Map();

  async function readSkill(root: FolderRoot, name: string): Promise<ReadSkill> {
    try {
      const { files, stamp } = await listSkillFiles(root, name);
      const before = known.get(name);
      if (before?.stamp === stamp) return before;
      return { stamp, outcome: await buildSkill(root, name, files) };
    } catch (error) {
      const reason = explainSkillFailure(error);
      if (reason === null) throw error;
      return { stamp: '', outcome: { name, reason } };
    }
  }

  return {
    open,
    async scan() {
      const { names, broken } = listSkillFolders(open);
      const read = new Map<string, ReadSkill>();
      for (const name of names) read.set(name, await readSkill(open(), name));
      known = read;
      const outcomes = [...read.values()].map(({ outcome }) => outcome);
      return {
        skills: outcomes.filter((one) => 'entry' in one),
        broken: [...broken, ...outcomes.filter((one) => 'reason' in one)],
      };
    },
  };
}

/** Folders that may be skills. A folder that is not there has none. */
function listSkillFolders(open: () => FolderRoot): { names: string[]; broken: BrokenSkill[] } {
  try {
    const { entries, unreadable } = open().list();
    const shown = entries.filter(({ name }) => !name.startsWith('.'));
    const names = shown.filter(({ type }) => type === 'folder').map(({ name }) => name);
    const broken = [
      ...shown.filter(({ type }) => type === 'link').map(({ name }) => ({ name, reason: linkReason })),
      ...shown.filter(({ name, type }) => name === 'SKILL.md' && type === 'file').map(explainBareManifest),
      ...(unreadable === 0 ? [] : [{ name: '?', reason: `${unreadable} names are not UTF-8. Rename them.` }]),
      ...names.slice(maxSkills).map((name) => ({ name, reason: tooManyReason })),
    ];
    return { names: names.slice(0, maxSkills), broken };
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return { names: [], broken: [] };
    const reason = explainSkillFailure(error);
    if (reason === null) throw error;
    return { names: [], broken: [{ name: '.', reason }] };
  }
}

const linkReason = 'It is a link, and links are not followed. Copy the folder instead.';
const tooManyReason = `There are more than ${maxSkills} skills. Remove some.`;
const explainBareManifest = ({ name }: { readonly name: string }): BrokenSkill => ({
  name,
  reason: 'It is not in a folder of its own. Move it into one that has the name of the skill.',
});

/** A skill that cannot be used, for a reason that its author can do something about. */
class UnusableSkill extends Error {}

/** Null for what is not the fault of the skill. */
function explainSkillFailure(error: unknown): string | null {
  if (error instanceof UnusableSkill) return error.message;
  if (error instanceof SkillCatalogError) return error.problems.map(({ message }) => message).join('; ');
  const isOfPath = isWorkcrateError(error) && /^(?:path_|too_large$|invalid_input$)/.test(error.code);
  return isOfPath ? error.message : null;
}

interface SkillFiles {
  readonly files: readonly SkillFile[];
  readonly stamp: string;
}

async function listSkillFiles(root: FolderRoot, name: string): Promise<SkillFiles> {
  const files: SkillFile[] = [];
  const stamps: string[] = [];
  const steps = root.tree(parseName(name), {
    mostEntries: maxSkillTreeEntries,
    mostDepth: maxSkillDepth,
    enters: (folder) => !folder.startsWith('.'),
  });
  const end = await runInSlices(steps, {
    take({ path, stats }) {
      if (path === null || isHiddenFile(path) || stats.isDirectory()) return;
      if (stats.isSymbolicLink())
        throw new UnusableSkill(`${path} is a link, and links are not followed. Copy the file instead.`);
      if (!stats.isFile()) throw new UnusableSkill(`${path} is not a regular file. Remove it.`);
      files.push({ path, size: Number(stats.size) });
      stamps.push([path, stats.size, stats.mtimeNs, stats.ctimeNs, stats.ino].join('\0'));
    },
  });
  checkUsable(files, end);
  return { files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)), stamp: stamps.toSorted().join('\n') };
}

const isHiddenFile = (path: string): boolean => path.slice(path.lastIndexOf('/') + 1).startsWith('.');

/** Before a byte is read. */
function checkUsable(files: readonly SkillFile[], { cut, unreadable, unentered }: TreeEnd): void {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (cut || files.length > SKILL_LIMITS.files)
    throw new UnusableSkill(`It has more than ${SKILL_LIMITS.files} files, which is the most. Remove some.`);
  if (bytes > SKILL_LIMITS.bytes)
    throw new UnusableSkill(
      `It has ${formatBytes(bytes)}, and a skill may have ${formatBytes(SKILL_LIMITS.bytes)}. Keep data elsewhere.`,
    );
  if (unreadable > 0) throw new UnusableSkill('It has file names that are not UTF-8. Rename them.');
  if (unentered > 0)
    throw new UnusableSkill(`It has folders that cannot be read, or are more than ${maxSkillDepth} deep.`);
  if (files.some(({ path }) => path === 'SKILL.md')) return;
  const other = files.find(({ path }) => path.toLowerCase() === 'skill.md');
  throw new UnusableSkill(
    other === undefined ? 'It has no SKILL.md.' : `It has no SKILL.md. Rename ${other.path}: case counts.`,
  );
}

async function buildSkill(
  root: FolderRoot,
  name: string,
  files: readonly SkillFile[],
): Promise<ScannedSkill> {
  // Of no prototype: a file may have any name.
  const contents = Object.create(null) as Record<string, Uint8Array>;
  let left = SKILL_LIMITS.bytes;
  for (const { path } of files) {
    const bytes = await readSkillFile(root, name, path, left);
    left -= bytes.length;
    contents[path] = bytes;
  }
  const entry = await skillEntry(name, contents);
  const sizes = files.map(({ path }) => ({ path, size: contents[path]!.length }));
  return { name, description: entry.frontmatter.description, files: sizes, entry };
}

/** One file of a skill, whole. It may have grown since it was listed. */
export async function readSkillFile(
  root: FolderRoot,
  name: string,
  path: string,
  limit: number = SKILL_LIMITS.bytes,
): Promise<Buffer> {
  using file = root.open(joinComponents(parseName(name), ...path.split('/').map(parseName)));
  const tooLong = (): Error => new UnusableSkill(`${path} has become too large while it was read.`);
  return await collectBytes(readOpenFile(file), { limit, tooLong });
}
