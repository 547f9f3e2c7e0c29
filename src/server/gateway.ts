/**
 * Puts the judge of calls before the gateway, where there is one.
 */
import type { ServerConfig as Config } from './settings.ts';
import type { Gateway } from '../features/gateway/gateway.ts';
import { openConfiguredGateway, type GatewayRooms } from '../features/gateway/settings.ts';
import { toUpstreamTool } from '../features/gateway/upstream-tool.ts';
import type { OpenJudge } from '../core/feature.ts';
import type { CallJudge } from '../core/offer/judge.ts';
import type { Upstream } from '../core/offer/upstream.ts';

export interface ServerGatewayOptions extends GatewayRooms {
  readonly config: Config;
  readonly judge: OpenJudge | null;
}

/** Null where no file names servers. */
export async function openServerGateway({ config, judge, ...rooms }: ServerGatewayOptions) {
  const gateway = await openConfiguredGateway(config, rooms);
  return gateway === null || judge === null ? gateway : judgeGateway(gateway, judge.calls);
}

/** The same gateway, whose tools are judged, whoever calls them and however. */
function judgeGateway(gateway: Gateway, judge: CallJudge): Gateway {
  const toolbox = judge.judgeToolbox(gateway.toolbox);
  const { upstream } = gateway;
  const findTool: Upstream['findTool'] = async (name, context) => {
    const tool = await upstream.findTool(name, context);
    return tool && toUpstreamTool(tool.name, (input, about) => toolbox.call(name, input, about));
  };
  return { ...gateway, toolbox, upstream: { ...upstream, findTool } };
}
