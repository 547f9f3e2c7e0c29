/**
 * The setting `projects`, the only one with a structure: which folders of a client's project may be read. The config file
 * may write it in YAML. It is applied in `policy/`.
 */
import { BadValue, list, type SettingKind } from '../../platform/config/kinds.ts';

/** What a config file says of one project of clients, in the words of the file. */
export interface ProjectSetting {
  /** The project's folder, as the client's machine writes it. */
  readonly root: string;
  readonly filesystem: { readonly allowed_paths: readonly string[] };
}

/** A list of projects: YAML in a config file, JSON elsewhere. */
export const projectList: SettingKind<readonly ProjectSetting[]> = {
  isStructured: true,
  takes:
    'a list of projects such as [{"root": "/home/me/project", "filesystem": {"allowed_paths": ["docs", "data"]}}]',
  parse(text) {
    const value = text === '' ? [] : parseProjectsJson(text);
    if (!Array.isArray(value)) throw new BadValue();
    return value.map(parseProject);
  },
};

function parseProjectsJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) throw new BadValue();
    throw error;
  }
}

/** `filesystem.allowed_paths` may be one key or two, as at the top of the file. */
function parseProject(value: unknown): ProjectSetting {
  const { root, filesystem, 'filesystem.allowed_paths': dotted, ...more } = checkRecord(value);
  const { allowed_paths: nested, ...others } = checkRecord(filesystem ?? {});
  const isKnown = Object.keys(more).length + Object.keys(others).length === 0;
  const isOne = (nested === undefined) !== (dotted === undefined);
  if (!isKnown || !isOne || typeof root !== 'string' || !isAbsoluteProjectPath(root)) throw new BadValue();
  return { root, filesystem: { allowed_paths: parsePaths(nested ?? dotted) } };
}

function parsePaths(value: unknown): string[] {
  if (typeof value === 'string') return list.parse(value);
  if (!Array.isArray(value) || !value.every((path) => typeof path === 'string')) throw new BadValue();
  return value;
}

function checkRecord(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new BadValue();
  return value as Record<string, unknown>;
}

/** On any system: the client's may be another than this one. */
const isAbsoluteProjectPath = (path: string): boolean => /^(?:\/|[a-z]:[/\\]|\\\\)/i.test(path);
