import { WorkcrateError } from '../errors.ts';
import { toolGroups } from '../mcp/tool.ts';

/** Lets its holder see how the server is: /metrics and /status. */
export const operatorScope = 'operator';

/** What a key or token can be good for: the groups of tools, and looking after the server. */
export const scopes: readonly string[] = [...toolGroups, operatorScope];

/** What a key is good for unless that is said: every tool. */
export const usualScopes: readonly string[] = toolGroups;

export function demandScopes(given: readonly string[]): readonly string[] {
  const unknown = given.filter((scope) => !scopes.includes(scope));
  if (unknown.length === 0 && given.length > 0) return [...new Set(given)];
  throw new WorkcrateError(
    'config_invalid',
    `--scopes takes any of ${scopes.join(', ')}, separated by commas${unknown.length > 0 ? `, not ${unknown.join(', ')}` : ''}.`,
  );
}
