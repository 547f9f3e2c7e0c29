/**
 * Renders tools as functions for Python: a module that calls them, and a stub (.pyi) with their types for whoever reads
 * or checks. All text of others is in string literals (`text.ts`), and all names are made (`identifiers.ts`).
 */
import { renderWithinBudget, type StubTool } from './detail.ts';
import { createNaming, isPlainIdentifier } from './identifiers.ts';
import type { Field, LiteralValue, Shape } from './shapes.ts';
import { toPythonString } from './text.ts';

export const pythonModuleStart = `from .._workcrate import ToolError, call as _call

_none = object()


def _given(arguments, more):
    return {**{name: value for name, value in arguments.items() if value is not _none}, **more}


def _tool(function):
    def aio(*arguments, **named):
        import asyncio

        return asyncio.to_thread(function, *arguments, **named)

    function.aio = aio
    return function
`;

export const pythonStubStart = `# Await NAME.aio(...) for the same without waiting. A call that fails raises ToolError.
from typing import Any, Awaitable, Callable, Generic, Literal, NotRequired, ParamSpec, TypedDict, TypeVar
from .._workcrate import ToolError as ToolError

_P = ParamSpec("_P")
_R = TypeVar("_R", covariant=True)

class _Tool(Generic[_P, _R]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def aio(self, *args: _P.args, **kwargs: _P.kwargs) -> Awaitable[_R]: ...

def _tool(function: Callable[_P, _R]) -> _Tool[_P, _R]: ...
`;

/** Complete, since only the interpreter reads it: it knows the names of all arguments. */
export function renderPythonFunction(tool: StubTool): string {
  const names = nameArguments(tool.fields);
  const parameters = joinParameters(names, ({ identifier, field }) =>
    field.isRequired ? identifier : `${identifier}=_none`,
  );
  const pairs = names.map(({ identifier, field }) => `${toPythonString(field.name)}: ${identifier}`);
  // Whatever is not named is passed on: the server says what it does not take.
  return [
    '@_tool',
    `def ${tool.identifier}(${[...parameters, '**_more'].join(', ')}):`,
    `    ${toPythonString(tool.description.slice(0, 2000))}`,
    `    return _call(${toPythonString(tool.tool)}, _given({${pairs.join(', ')}}, _more))`,
    '',
  ].join('\n');
}

interface NamedArgument {
  readonly identifier: string;
  readonly field: Field;
}

function nameArguments(fields: readonly Field[]): NamedArgument[] {
  const naming = createNaming();
  return fields.map((field) => ({ identifier: naming(field.name), field }));
}

/** Required ones can be given by position, the others by name only. */
function joinParameters(
  names: readonly NamedArgument[],
  render: (argument: NamedArgument) => string,
): string[] {
  const required = names.filter(({ field }) => field.isRequired).map(render);
  const others = names.filter(({ field }) => !field.isRequired).map(render);
  return others.length === 0 ? required : [...required, '*', ...others];
}

/** What a model reads of the tool. */
export const renderPythonEntry = (tool: StubTool): string => renderWithinBudget(tool, renderEntry);

function renderEntry(tool: StubTool): string {
  const types = createTypes(tool.identifier);
  const parameters = joinParameters(nameArguments(tool.fields), ({ identifier, field }) => {
    const type = types.render(field.shape, field.name);
    return field.isRequired ? `${identifier}: ${type}` : `${identifier}: ${type} = ...`;
  });
  const more = tool.takesMore ? ['**_more: Any'] : [];
  const output = tool.output === null ? 'Any' : types.render(tool.output, 'result');
  const body = tool.description === '' ? ' ...' : `\n    ${toPythonString(tool.description)}`;
  const signature = `def ${tool.identifier}(${[...parameters, ...more].join(', ')}) -> ${output}:${body}`;
  return [...types.definitions, '@_tool', signature, ''].join('\n');
}

const plainTypesInPython = {
  any: 'Any',
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
  list: 'list[Any]',
  object: 'dict[str, Any]',
} as const;

/**
 * Objects with fields are classes of their own in Python, and so need names. No identifier has two underscores within
 * it, so these are the names of no function.
 */
function createTypes(functionName: string) {
  const naming = createNaming();
  const definitions: string[] = [];

  function render(shape: Shape, name: string): string {
    switch (shape.kind) {
      case 'literals':
        return `Literal[${shape.values.map(toPythonLiteral).join(', ')}]`;
      case 'items':
        return `list[${render(shape.item, name)}]`;
      case 'record':
        return `dict[str, ${render(shape.value, name)}]`;
      case 'union':
        return shape.members.map((member) => render(member, name)).join(' | ');
      case 'fields':
        return define(shape.fields, name);
      default:
        return plainTypesInPython[shape.kind];
    }
  }

  function define(fields: readonly Field[], name: string): string {
    const own = `${functionName}__${naming(name)}`;
    const typed = fields.map((field) => ({ ...field, type: render(field.shape, field.name) }));
    definitions.push(
      fields.every((field) => isPlainIdentifier(field.name))
        ? renderClass(own, typed)
        : renderFunctionalType(own, typed),
    );
    return own;
  }

  return { definitions, render };
}

interface TypedField extends Field {
  readonly type: string;
}

function renderClass(name: string, fields: readonly TypedField[]): string {
  const areAllOptional = fields.every(({ isRequired }) => !isRequired);
  const lines = fields.map(
    (field) =>
      `    ${field.name}: ${field.isRequired || areAllOptional ? field.type : `NotRequired[${field.type}]`}`,
  );
  return [`class ${name}(TypedDict${areAllOptional ? ', total=False' : ''}):`, ...lines].join('\n');
}

/** For names that are no identifiers. */
function renderFunctionalType(name: string, fields: readonly TypedField[]): string {
  const pairs = fields.map(
    (field) =>
      `${toPythonString(field.name)}: ${field.isRequired ? field.type : `NotRequired[${field.type}]`}`,
  );
  return `${name} = TypedDict(${toPythonString(name)}, {${pairs.join(', ')}})`;
}

function toPythonLiteral(value: LiteralValue): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return typeof value === 'string' ? toPythonString(value) : String(value);
}
