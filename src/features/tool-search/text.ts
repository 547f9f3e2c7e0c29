/** What the tools for tools say to a model: every fact, in few words. Texts of other servers are quoted. */
import { quoteName, toPlainJson } from '../../platform/text/text.ts';
import type { Effect, FoundTool, SearchAnswer } from './schema.ts';

const effectWords: Readonly<Record<Effect, string>> = {
  reads: 'only reads',
  changes: 'changes something',
  may_destroy: 'may delete or overwrite',
  unknown: 'may change something',
};

export function describeSearch({ tools, searched }: SearchAnswer): string {
  const among = searched === 1 ? 'one tool' : `${searched} tools`;
  if (tools.length === 0)
    return `None of ${among} fits. Say it in other words: what is done, and to what, such as "create issue".`;
  return [
    `Best first, of ${among}. Call one with call_tool, by its name.`,
    ...tools.flatMap(describeFound),
  ].join('\n');
}

function describeFound(tool: FoundTool): string[] {
  const head = `${quoteName(tool.name)} (of ${quoteName(tool.server)}; ${effectWords[tool.effect]})`;
  return [
    tool.description === null ? `- ${head}` : `- ${head}: ${toPlainJson(tool.description)}`,
    ...(tool.arguments === null ? [] : [`  arguments: ${tool.arguments}`]),
    ...(tool.input_schema === null ? [] : [`  input schema: ${tool.input_schema}`]),
  ];
}
