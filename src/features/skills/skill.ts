/**
 * What skills and tool files are, for all of this room. It imports no code, since what tools say of themselves is loaded
 * before a client over stdio is answered.
 */
import type { Skill } from '@modelcontextprotocol/server/ext/skills';

export interface SkillFile {
  /** Below the folder of the skill, with "/" between. */
  readonly path: string;
  readonly size: number;
}

export interface ScannedSkill {
  /** The name of its folder, which is its own name. */
  readonly name: string;
  readonly description: string;
  readonly files: readonly SkillFile[];
  /** As the extension for skills shows it, with the digest of each file. */
  readonly entry: Skill;
}

export interface BrokenSkill {
  /** The name of its folder. */
  readonly name: string;
  /** What is wrong with it and what to do, in words that may be those of the skill. */
  readonly reason: string;
}

export interface ScannedFolder {
  /** By name. */
  readonly skills: readonly ScannedSkill[];
  readonly broken: readonly BrokenSkill[];
}

export const skillOrigins = ['own', 'shipped'] as const;
export type SkillOrigin = (typeof skillOrigins)[number];

export interface FoundSkill extends ScannedSkill {
  readonly origin: SkillOrigin;
  /** Whether it is used instead of one of that name that comes with Workcrate. */
  readonly replacesShipped: boolean;
  /** Its folder inside of runs; null where it is not there. */
  readonly folderInRuns: string | null;
}

export interface LeftOutSkill extends BrokenSkill {
  readonly origin: SkillOrigin;
}

export interface SkillList {
  /** By name. */
  readonly skills: readonly FoundSkill[];
  readonly broken: readonly LeftOutSkill[];
}

/** One file of a skill, as bytes. */
export interface SkillContent {
  readonly skill: FoundSkill;
  readonly path: string;
  readonly bytes: Buffer;
}

export interface ToolFile {
  /** As runs see it: `/tools/plot.py`. */
  readonly file: string;
  readonly size: number;
  /** The first line of its documentation; empty where there is none. */
  readonly summary: string;
}

export const documentedLanguages = ['python', 'javascript', 'typescript'] as const;
export type DocumentedLanguage = (typeof documentedLanguages)[number];

export interface Documentation {
  /** Of the file as a whole; empty where there is none. */
  readonly module: string;
  /** In the order of the file. */
  readonly items: readonly DocumentedItem[];
  /** What could not be read, with its line, as a sentence; null where all of it could. */
  readonly problem: string | null;
}

export interface DocumentedItem {
  /** With the class before a method: `Plot.draw`. */
  readonly name: string;
  readonly kind: 'function' | 'class' | 'method';
  /** As it is written, on one line, without the body. */
  readonly signature: string;
  /** Empty where there is none. */
  readonly doc: string;
  readonly line: number;
}

const extensions: Readonly<Record<string, DocumentedLanguage>> = {
  py: 'python',
  js: 'javascript',
  mjs: 'javascript',
  cjs: 'javascript',
  ts: 'typescript',
  mts: 'typescript',
  cts: 'typescript',
};

/** The language of a file, by its name; null for one that has no documentation to read. */
export function findLanguage(name: string): DocumentedLanguage | null {
  const [, extension = ''] = /\.([a-z]+)$/i.exec(name) ?? [];
  return extensions[extension.toLowerCase()] ?? null;
}

export interface DocumentedFile extends Documentation {
  readonly file: string;
  readonly language: DocumentedLanguage;
  readonly size: number;
}
