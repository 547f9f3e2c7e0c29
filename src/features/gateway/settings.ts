/** The settings of servers behind this one, and the gateway that they ask for. */
import { readEnvironmentVariable } from '../../platform/config/config.ts';
import type { KnownConfig } from '../../core/command.ts';
import type { Gateway, GatewayOptions } from './gateway.ts';
import { integer, optionalText, seconds } from '../../platform/config/kinds.ts';
import { defineSetting } from '../../platform/config/setting.ts';

export const gatewaySettings = {
  gateway: defineSetting(
    optionalText,
    null,
    'JSON file with mcpServers, and packages with a manifest: servers whose tools are offered too, each behind its prefix',
    { after: 'toolRoutes' },
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

export type GatewayRooms = Pick<GatewayOptions, 'audit' | 'log' | 'ownTools' | 'pins'>;

/** Null where no file names servers. Then nothing of the gateway is loaded: MCP's client alone takes 3 MB. */
export async function openConfiguredGateway(
  { gateway: file, gatewayIdle, gatewayConnections, clientTimeout }: KnownConfig<typeof gatewaySettings>,
  rooms: GatewayRooms,
): Promise<Gateway | null> {
  if (file === null) return null;
  const { openGateway } = await import('./gateway.ts');
  return openGateway({
    ...rooms,
    file,
    readVariable: readEnvironmentVariable,
    inherited: readInherited(),
    idleMs: gatewayIdle * 1000,
    mostConnections: gatewayConnections,
    askMs: clientTimeout * 1000,
  });
}

/** What a program needs to be found and to run. Everything else of our environment may be a secret of ours. */
const inheritedVariables = ['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'USER'];

function readInherited(): Record<string, string> {
  const found = inheritedVariables.map((name) => [name, readEnvironmentVariable(name)] as const);
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
