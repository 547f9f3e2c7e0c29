/**
 * How much is told of a tool: as much as fits into what a model may spend on it. The first of these levels at which its
 * text is short enough is taken; the last always is.
 */
import type { ToolDefinition } from '../../../core/offer/toolbox.ts';
import { limitDepth, readArguments, readStubShape, type Field, type Shape } from './shapes.ts';
import { estimateTokens, takeFirstSentences } from './text.ts';

/** By the tokenizer o200k; our estimate may be a little wrong, so it has to leave room. */
export const maxStubTokens = 120;
const maxEstimatedTokens = 104;
/** Longer than any text of so few tokens that is worth counting. */
const maxEntryLength = 1200;

interface Level {
  /** How deep the types of arguments and of the result go. */
  readonly input: number;
  readonly output: number;
  readonly descriptionLength: number;
  readonly arguments: 'all' | 'required' | 'none';
}

const detailLevels: readonly Level[] = [
  { input: 4, output: 4, descriptionLength: 140, arguments: 'all' },
  { input: 3, output: 3, descriptionLength: 140, arguments: 'all' },
  { input: 2, output: 2, descriptionLength: 140, arguments: 'all' },
  { input: 2, output: 1, descriptionLength: 140, arguments: 'all' },
  { input: 1, output: 1, descriptionLength: 100, arguments: 'all' },
  { input: 1, output: 0, descriptionLength: 100, arguments: 'all' },
  { input: 0, output: 0, descriptionLength: 100, arguments: 'all' },
  { input: 0, output: 0, descriptionLength: 50, arguments: 'all' },
  { input: -1, output: 0, descriptionLength: 50, arguments: 'all' },
  { input: 0, output: 0, descriptionLength: 50, arguments: 'required' },
  { input: -1, output: 0, descriptionLength: 0, arguments: 'required' },
  { input: -1, output: 0, descriptionLength: 50, arguments: 'none' },
  { input: -1, output: 0, descriptionLength: 0, arguments: 'none' },
];

/** A tool, as the languages render it. */
export interface StubTool {
  /** The name by which it is called. */
  readonly tool: string;
  /** The name of its function. */
  readonly identifier: string;
  /** Its name on its server, where the function has another. */
  readonly otherName: string | null;
  readonly description: string;
  readonly fields: readonly Field[];
  readonly takesMore: boolean;
  /** What it gives; null where nobody says. */
  readonly output: Shape | null;
}

export function readStubTool(definition: ToolDefinition, identifier: string): StubTool {
  const { name, nameThere, description, inputSchema, outputSchema } = definition;
  return {
    tool: name,
    identifier,
    otherName: identifier === nameThere ? null : nameThere,
    description,
    ...readArguments(inputSchema),
    output: outputSchema === null ? null : readStubShape(outputSchema),
  };
}

/** The text of a tool at the first level of detail at which it is short enough. */
export function renderWithinBudget(tool: StubTool, render: (tool: StubTool) => string): string {
  let text = '';
  for (const level of detailLevels) {
    text = render(reduceDetail(tool, level));
    if (text.length <= maxEntryLength && estimateTokens(text) <= maxEstimatedTokens) return text;
  }
  return text;
}

const maxNameInDescription = 64;

function reduceDetail(tool: StubTool, level: Level): StubTool {
  const { fields, otherName, output } = tool;
  const kept = fields.filter(
    ({ isRequired }) => level.arguments === 'all' || (level.arguments === 'required' && isRequired),
  );
  const own = otherName === null ? '' : ` (${JSON.stringify(otherName.slice(0, maxNameInDescription))})`;
  return {
    ...tool,
    description: `${takeFirstSentences(tool.description, level.descriptionLength)}${own}`.trim(),
    fields: kept.map((field) => ({ ...field, shape: limitDepth(field.shape, level.input) })),
    takesMore: tool.takesMore || kept.length < fields.length,
    output: output && limitDepth(output, level.output),
  };
}
