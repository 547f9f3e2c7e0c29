/**
 * Which tools the code of a run may call: those that the call of execute_code names, of those that its caller may use.
 * A pattern grants what only reads of our own; anything else has to be named. It asks nobody: `broker.ts` does.
 */
import { WorkcrateError } from '../../platform/errors.ts';
import { createGlob } from '../../platform/text/glob.ts';
import { ownServer, toolNotFoundError, type ToolDefinition } from '../../core/offer/toolbox.ts';

/** A tool that code may call. */
export interface GrantedTool {
  readonly definition: ToolDefinition;
  /** Whether a person has to allow each call. */
  readonly asks: boolean;
}

export type ToolGrant = ReadonlyMap<string, GrantedTool>;

/** They run code, or call other tools: by them code would get what it was not granted. */
const neverCalled: ReadonlySet<string> = new Set([
  'execute_code',
  'execute_bash',
  'run_script',
  'start_session',
  'send_to_session',
  'manage_session',
  'close_session',
  'install_packages',
  'remove_packages',
  'call_tool',
]);

const isNeverCalled = ({ server, name }: ToolDefinition): boolean =>
  server === ownServer && neverCalled.has(name);

const isPattern = (wanted: string): boolean => /[*?]/.test(wanted);

/** What other servers say of their tools is not believed: they could say it of any. */
const isGrantedByPattern = (definition: ToolDefinition): boolean =>
  definition.server === ownServer && isReadOnly(definition);

const isReadOnly = ({ annotations }: ToolDefinition): boolean => annotations.readOnlyHint === true;

/** What does not say that it only reads, nor that it destroys nothing, is taken to destroy, as MCP has it. */
const asksPerson = (definition: ToolDefinition): boolean =>
  !isReadOnly(definition) && definition.annotations.destructiveHint !== false;

/** Throws `invalid_input` or `not_found` for what grants nothing, since code would only find out later. */
export function grantTools(wanted: readonly string[], known: readonly ToolDefinition[]): ToolGrant {
  const granted = new Map<string, GrantedTool>();
  for (const each of wanted)
    for (const definition of isPattern(each) ? findMatching(each, known) : [findGrantable(each, known)])
      granted.set(definition.name, { definition, asks: asksPerson(definition) });
  return granted;
}

function findGrantable(name: string, known: readonly ToolDefinition[]): ToolDefinition {
  const found = known.find((definition) => definition.name === name);
  if (found === undefined)
    throw toolNotFoundError(
      name,
      known.map((definition) => definition.name),
    );
  if (!isNeverCalled(found)) return found;
  throw new WorkcrateError(
    'invalid_input',
    `Code cannot call ${name}: it runs code, or other tools, itself.`,
  );
}

function findMatching(pattern: string, known: readonly ToolDefinition[]): ToolDefinition[] {
  const fits = createGlob(pattern);
  const matching = known.filter((definition) => fits(definition.name) && !isNeverCalled(definition));
  const reading = matching.filter(isGrantedByPattern);
  if (reading.length > 0) return reading;
  const shown = JSON.stringify(pattern.slice(0, 100));
  const why =
    matching.length === 0
      ? `No tool that code can call fits ${shown}.`
      : `What fits ${shown} does more than read, or belongs to another server, and has to be named: ${listToolNames(matching)}.`;
  throw new WorkcrateError('invalid_input', why);
}

const maxNamedTools = 10;

export function listToolNames(definitions: Iterable<ToolDefinition>): string {
  const names = Array.from(definitions, ({ name }) => name);
  const more = names.length - maxNamedTools;
  return `${names.slice(0, maxNamedTools).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
