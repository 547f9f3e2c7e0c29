/**
 * What a prompt is: a text that a person picks in their client, which tells an agent what to do with which tools. It
 * registers nothing (`resources.ts` does); the prompts themselves are in `prompts/`.
 */
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
