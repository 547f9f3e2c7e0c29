/**
 * Calls a tool by its name for a model that found it, and answers as the tool itself would: text, pictures, questions and
 * errors. Where arguments do not fit it says what the tool takes.
 */
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import { WorkcrateError, type ErrorCode } from '../../platform/errors.ts';
import { isQuestion, type Question, type ToolAnswer, type ToolContext } from '../../core/offer/tool.ts';
import { ownServer, type Toolbox, type ToolDefinition } from '../../core/offer/toolbox.ts';
import { quoteShort } from '../../platform/text/text.ts';
import { describeArguments, listMisfits } from './arguments.ts';
import { searchTools } from './search.ts';

/** What the call of a tool gave. */
export interface CalledTool {
  readonly tool: string;
  readonly server: string;
  readonly result: Record<string, unknown> | null;
}

type Given = Readonly<Record<string, unknown>>;

export async function callByName(
  toolbox: Toolbox,
  name: string,
  given: Given,
  context: ToolContext,
): Promise<ToolAnswer<CalledTool> | Question> {
  const tools = await toolbox.list(context);
  const definition = tools.find((tool) => tool.name === name);
  if (definition === undefined) throw unknownToolError(name, tools);
  const answer = await toolbox.call(name, { ...given }, context);
  if (isQuestion(answer)) return answer;
  if (answer.isError === true) throw toCallFault(definition, given, answer);
  const { text, content } = splitContent(definition, answer.content);
  const result = (answer.structuredContent ?? null) as Record<string, unknown> | null;
  return { text, content, structured: { tool: name, server: definition.server, result } };
}

/** A model that guesses a name is told those that come near to what it says. */
function unknownToolError(name: string, tools: readonly ToolDefinition[]): WorkcrateError {
  const near = searchTools(tools, name, 3).map((tool) => tool.name);
  const hint = near.length === 0 ? 'Find it with search_tools.' : `Near it: ${near.join(', ')}.`;
  return new WorkcrateError('not_found', `There is no tool ${quoteShort(name, 100)} for you here. ${hint}`);
}

/** As `toErrorResult` writes them. */
type ErrorFacts = Record<string, string | number> & { readonly code?: ErrorCode };

/** The same failure, by the same code. What another server says has none. */
function toCallFault(tool: ToolDefinition, given: Given, { content, _meta }: CallToolResult): WorkcrateError {
  const said = joinTexts(content) || `${tool.name} failed, and did not say why.`;
  const { code, ...details } = (_meta?.['workcrate/error'] ?? {}) as ErrorFacts;
  const known = tool.server === ownServer && code !== undefined ? code : null;
  const message = [said, ...describeArgumentRemedy(tool, given, known === 'invalid_input')].join('\n');
  return known === null
    ? new WorkcrateError('tool_failed', message, { details: { server: tool.server, tool: tool.nameThere } })
    : new WorkcrateError(known, message, { details });
}

function describeArgumentRemedy(tool: ToolDefinition, given: Given, isMisfit: boolean): string[] {
  const misfits = tool.server === ownServer ? [] : listMisfits(tool.inputSchema, given);
  if (misfits.length === 0 && !isMisfit) return [];
  const wrong = misfits.length === 0 ? '' : `In the arguments, ${misfits.join(', ')}. `;
  return [`${wrong}${tool.name} takes: ${describeArguments(tool.inputSchema)}`];
}

const joinTexts = (content: readonly ContentBlock[]): string =>
  content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');

/**
 * Text is the answer, and everything else goes with it. A link of our own tools is in their text; one of another server
 * may be nowhere else, and clients that ask for no structured content get no links.
 */
function splitContent({ server }: ToolDefinition, content: readonly ContentBlock[]) {
  const others = content.filter(({ type }) => type !== 'text');
  const links = others.flatMap((block) =>
    block.type === 'resource_link' && server !== ownServer
      ? [`Link to ${quoteShort(block.name, 200)}: ${quoteShort(block.uri, 2000)}`]
      : [],
  );
  const text = [joinTexts(content), ...links].filter((part) => part !== '').join('\n');
  const kinds = [...new Set(others.map(({ type }) => type))].join(', ');
  const absent =
    kinds === '' ? 'The tool answered with nothing.' : `The tool answered without a text: ${kinds}.`;
  return { text: text === '' ? absent : text, content: others };
}
