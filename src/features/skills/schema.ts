/** Skills and documentation in JSON, as tools and routes answer them. It reads no files. */
import { z } from 'zod';
import {
  documentedLanguages,
  skillOrigins,
  type DocumentedFile,
  type DocumentedItem,
  type FoundSkill,
  type SkillContent,
  type SkillList,
  type ToolFile,
} from './skill.ts';

const summaryFields = {
  name: z.string(),
  description: z.string(),
  origin: z.enum(skillOrigins).describe('own: of whoever runs the server; shipped: comes with Workcrate'),
  replaces_shipped: z.boolean(),
  folder_in_runs: z.string().nullable(),
};

export const skillListShape = z.object({
  skills: z.array(z.object({ ...summaryFields, files: z.number() })),
  broken: z
    .array(z.object({ name: z.string(), origin: z.enum(skillOrigins), reason: z.string() }))
    .describe('Skills that cannot be used, and why'),
  tools: z
    .array(z.object({ file: z.string(), size: z.number(), summary: z.string() }))
    .describe('Files in /tools; read_docstring says more'),
});

export const skillShape = z.object({
  ...summaryFields,
  files: z.array(z.object({ path: z.string(), size: z.number() })),
  file: z.string(),
  size: z.number().describe('Of this file'),
  text: z.string().nullable().describe('Null where it is not text'),
  cut: z.boolean().describe('Whether only its start is shown'),
});

export const documentationShape = z.object({
  file: z.string(),
  language: z.enum(documentedLanguages),
  size: z.number(),
  module: z.string().describe('What is said of the file as a whole'),
  items: z.array(
    z.object({
      name: z.string(),
      kind: z.enum(['function', 'class', 'method']),
      signature: z.string(),
      doc: z.string().describe('Of a list only the first line'),
      line: z.number(),
    }),
  ),
  more: z.number().describe('Further ones that are not listed'),
  problem: z.string().nullable().describe('What could not be read'),
});

const showSummary = ({ name, description, origin, replacesShipped, folderInRuns }: FoundSkill) => ({
  name,
  description,
  origin,
  replaces_shipped: replacesShipped,
  folder_in_runs: folderInRuns,
});

export function showSkillList(
  { skills, broken }: SkillList,
  tools: readonly ToolFile[],
): z.input<typeof skillListShape> {
  return {
    skills: skills.map((skill) => ({ ...showSummary(skill), files: skill.files.length })),
    broken: broken.map(({ name, origin, reason }) => ({ name, origin, reason })),
    tools: tools.map((tool) => ({ ...tool })),
  };
}

/** The most of a file that is shown, in characters: it goes into a conversation. */
const maxSkillText = 50_000;

export function showSkill({ skill, path, bytes }: SkillContent): z.input<typeof skillShape> {
  const text = decodeSkillText(bytes);
  return {
    ...showSummary(skill),
    files: skill.files.map((file) => ({ ...file })),
    file: path,
    size: bytes.length,
    text: text && text.slice(0, maxSkillText).toWellFormed(),
    cut: text !== null && text.length > maxSkillText,
  };
}

/** Null where the bytes are not text. */
export function decodeSkillText(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

const maxListedItems = 100;
const maxDocLength = 10_000;

/** All of a file in short, or one function, class or method in full. */
export function showDocumentation(
  documented: DocumentedFile,
  wanted: readonly DocumentedItem[] | null,
): z.input<typeof documentationShape> {
  const { file, language, size, module, items, problem } = documented;
  const shown = wanted ?? items;
  const cutDoc = (doc: string): string => (wanted === null ? (doc.split('\n')[0] ?? '') : cutDocText(doc));
  return {
    file,
    language,
    size,
    module: cutDocText(module),
    items: shown.slice(0, maxListedItems).map((item) => ({ ...item, doc: cutDoc(item.doc) })),
    more: Math.max(0, shown.length - maxListedItems),
    problem,
  };
}

const cutDocText = (text: string): string =>
  text.length > maxDocLength ? `${text.slice(0, maxDocLength).toWellFormed()}…` : text;
