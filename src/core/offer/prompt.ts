/**
 * What a prompt is: a text that a person picks in their client, which tells an agent what to do with which tools. It
 * registers nothing (`resources.ts` does); the prompts themselves are in `features/prompts/`.
 */
import { toPlainJson } from '../../platform/text/text.ts';
import type { ToolContext } from './tool.ts';

export interface PromptArgument {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  /** Values that begin like this; without it none are offered. */
  complete?(begun: string, context: ToolContext): Promise<readonly string[]>;
}

export interface Prompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly PromptArgument[];
  /** The tools without which it makes no sense: it is offered only to callers who may use them all. */
  readonly needs: readonly string[];
  /** Writes the text. It may name the tools that it needs, and others only where the caller `has` them. */
  write(given: Readonly<Record<string, string>>, has: (tool: string) => boolean): string;
  /** What a room knows at this moment, to be put behind the text. */
  addFacts?(context: ToolContext): Promise<string>;
}

/** A prompt without the room that completes its arguments and adds facts. */
export interface DeclaredPrompt<Room> extends Omit<Prompt, 'arguments' | 'addFacts'> {
  readonly arguments: readonly (Omit<PromptArgument, 'complete'> & {
    complete?(room: Room, begun: string, context: ToolContext): Promise<readonly string[]>;
  })[];
  addFacts?(room: Room, context: ToolContext): Promise<string>;
}

/** The prompt, now that its room is open. */
export function bindPrompt<Room>({ addFacts, ...prompt }: DeclaredPrompt<Room>, room: Room): Prompt {
  return {
    ...prompt,
    arguments: prompt.arguments.map(({ complete, ...argument }) => ({
      ...argument,
      ...(complete && { complete: (begun, context) => complete(room, begun, context) }),
    })),
    ...(addFacts && { addFacts: (context) => addFacts(room, context) }),
  };
}

type Has = (tool: string) => boolean;

/** A step, and the tools that it names: it is left out where one of them is not there. */
export interface Step {
  readonly names?: readonly string[];
  readonly text: string;
}

/** The goal, then the steps that are possible here, with numbers. */
export function writeSteps(goal: string, steps: readonly Step[], has: Has): string {
  const possible = steps.filter(({ names = [] }) => names.every(has));
  return [goal, '', ...possible.map(({ text }, at) => `${at + 1}. ${text}`)].join('\n');
}

/** What people type is quoted, so that its lines do not pass for steps. */
export const quoteValue = (value: string): string => toPlainJson(value);
