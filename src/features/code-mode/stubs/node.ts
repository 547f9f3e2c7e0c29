/**
 * Renders tools as functions for Node: a module that calls them, and declarations with their types. They take one object
 * with the arguments under their own names, and give promises.
 */
import { renderWithinBudget, type StubTool } from './detail.ts';
import { isPlainIdentifier } from './identifiers.ts';
import type { Field, LiteralValue, Shape } from './shapes.ts';
import { toDocComment, toNodeString } from './text.ts';

export const nodeModuleStart = `import { call, ToolError } from '../_workcrate.mjs';
export { ToolError };
`;

export const nodeDeclarationsStart = `// A call that fails rejects with ToolError.
export class ToolError extends Error {
  readonly server: string;
  readonly tool: string;
}
`;

export const renderNodeFunction = ({ identifier, tool }: StubTool): string =>
  `export const ${identifier} = (input = {}) => call(${toNodeString(tool)}, input);\n`;

/** What a model reads of the tool. */
export const renderNodeEntry = (tool: StubTool): string => renderWithinBudget(tool, renderDeclaration);

/** For `import … from '…/index.mjs'`, whose declarations TypeScript looks for under this name. */
export const nodeModuleDeclarations = "export * from './index.js';\n";

function renderDeclaration(tool: StubTool): string {
  const members = [
    ...tool.fields.map(renderMember),
    ...(tool.takesMore ? ['[name: string]: unknown'] : []),
  ].join('; ');
  const isOptional = tool.fields.every(({ isRequired }) => !isRequired);
  const input = members === '' ? '' : `input${isOptional ? '?' : ''}: { ${members} }`;
  const output = tool.output === null ? 'any' : renderType(tool.output);
  const comment = tool.description === '' ? [] : [toDocComment(tool.description)];
  return [...comment, `export declare function ${tool.identifier}(${input}): Promise<${output}>;`, ''].join(
    '\n',
  );
}

const renderMember = ({ name, isRequired, shape }: Field): string =>
  `${isPlainIdentifier(name) ? name : toNodeString(name)}${isRequired ? '' : '?'}: ${renderType(shape)}`;

const plainTypesInTs = {
  any: 'any',
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
  list: 'any[]',
  object: 'Record<string, any>',
} as const;

function renderType(shape: Shape): string {
  switch (shape.kind) {
    case 'literals':
      return shape.values.map(toNodeLiteral).join(' | ');
    case 'items': {
      const item = renderType(shape.item);
      return shape.item.kind === 'union' || shape.item.kind === 'literals' ? `(${item})[]` : `${item}[]`;
    }
    case 'record':
      return `Record<string, ${renderType(shape.value)}>`;
    case 'union':
      return shape.members.map(renderType).join(' | ');
    case 'fields':
      return `{ ${shape.fields.map(renderMember).join('; ')} }`;
    default:
      return plainTypesInTs[shape.kind];
  }
}

const toNodeLiteral = (value: LiteralValue): string =>
  typeof value === 'string' ? toNodeString(value) : String(value);
