import type { RefusedCall } from '../mcp/refused.ts';
import type { Tool } from '../mcp/tool.ts';
import type { Audit } from './audit.ts';
import { findSubject } from './audited-tool.ts';

/**
 * A line for each call that does not come as far as a tool. One that brings a state that was not given to it is a
 * violation. One that the key or token is not good for is a mistake: agents are shown tools that their key lacks.
 */
export function refusedCalls(audit: Audit, tools: readonly Pick<Tool, 'name' | 'auditFields'>[]) {
  const declared = new Map(tools.map(({ name, auditFields }) => [name, auditFields]));
  return ({ tool, given, user, client, error }: RefusedCall): void => {
    const auditFields = declared.get(tool);
    const about =
      auditFields === undefined
        ? { operation: 'tools/call', subject: tool }
        : { operation: tool, subject: findSubject(auditFields, given) };
    const event = { ...about, user, client, result: error.code };
    const { kind, ...details } = error.details;
    if (typeof kind === 'string') audit.violation({ ...event, details }, kind, error);
    else audit.note({ ...event, level: 'info', ...(hasFields(details) && { details }) });
  };
}

const hasFields = (details: object): boolean => Object.keys(details).length > 0;
