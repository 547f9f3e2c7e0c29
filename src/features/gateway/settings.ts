/** The settings of servers behind this one. */
import { integer, optionalText, seconds } from '../../platform/config/kinds.ts';
import { defineSetting } from '../../platform/config/setting.ts';

export const gatewaySettings = {
  gateway: defineSetting(
    optionalText,
    null,
    'JSON file with mcpServers, and packages with a manifest: servers whose tools are offered too, each behind its prefix',
    { after: 'tools' },
  ),
  gatewayIdle: defineSetting(
    seconds(1, 86_400),
    900,
    'seconds without use after which the connection of a user to a server behind the gateway is closed',
  ),
  gatewayConnections: defineSetting(
    integer(1, 10_000),
    100,
    'connections to servers behind the gateway at once; each user has one for each server',
  ),
};
