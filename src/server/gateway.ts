/**
 * Puts the guard before the gateway, where there is one.
 */
import type { ServerConfig as Config } from './settings.ts';
import type { Gateway } from '../features/gateway/gateway.ts';
import { openConfiguredGateway, type GatewayRooms } from '../features/gateway/settings.ts';
import { toUpstreamTool } from '../features/gateway/upstream-tool.ts';
import type { Guard } from '../features/guard/guard.ts';
import { guardToolbox } from '../features/guard/wrappers.ts';
import type { Upstream } from '../core/offer/upstream.ts';

export interface ServerGatewayOptions extends GatewayRooms {
  readonly config: Config;
  readonly guard: Guard | null;
}

/** Null where no file names servers. */
export async function openServerGateway({ config, guard, ...rooms }: ServerGatewayOptions) {
  const gateway = await openConfiguredGateway(config, rooms);
  return gateway === null || guard === null ? gateway : guardGateway(gateway, guard);
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
