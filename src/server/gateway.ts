/**
 * Opens the gateway with what the settings say. What it does is in `gateway/`.
 */
import { readEnvironmentVariable } from '../platform/config/config.ts';
import type { ServerConfig as Config } from './settings.ts';
import type { Gateway, GatewayOptions } from '../features/gateway/gateway.ts';
import { toUpstreamTool } from '../features/gateway/upstream-tool.ts';
import type { Guard } from '../features/guard/guard.ts';
import { guardToolbox } from '../features/guard/wrappers.ts';
import type { Upstream } from '../core/offer/upstream.ts';

export type ServerGatewayOptions = Pick<GatewayOptions, 'audit' | 'log' | 'ownTools' | 'pins'> & {
  readonly config: Config;
  readonly guard: Guard | null;
};

/** Null where no file names servers. Then nothing of the gateway is loaded: MCP's client alone takes 3 MB. */
export async function openServerGateway({
  config,
  guard,
  ...options
}: ServerGatewayOptions): Promise<Gateway | null> {
  if (config.gateway === null) return null;
  const { openGateway } = await import('../features/gateway/gateway.ts');
  const gateway = openGateway({
    ...options,
    file: config.gateway,
    readVariable: readEnvironmentVariable,
    inherited: readInherited(),
    idleMs: config.gatewayIdle * 1000,
    mostConnections: config.gatewayConnections,
    askMs: config.clientTimeout * 1000,
  });
  return guard === null ? gateway : guardGateway(gateway, guard);
}

/** The same gateway, whose tools the guard judges, whoever calls them and however. */
function guardGateway(gateway: Gateway, guard: Guard): Gateway {
  const toolbox = guardToolbox(gateway.toolbox, guard);
  const { upstream } = gateway;
  const findTool: Upstream['findTool'] = async (name, context) => {
    const tool = await upstream.findTool(name, context);
    return tool && toUpstreamTool(tool.name, (input, about) => toolbox.call(name, input, about));
  };
  return { ...gateway, toolbox, upstream: { ...upstream, findTool } };
}

/** What a program needs to be found and to run. Everything else of our environment may be a secret of ours. */
const inheritedVariables = ['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'USER'];

function readInherited(): Record<string, string> {
  const found = inheritedVariables.map((name) => [name, readEnvironmentVariable(name)] as const);
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
