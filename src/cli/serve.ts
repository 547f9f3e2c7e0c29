import type { ServerConfig as Config } from '../server/settings.ts';
import { startWorkcrate, type Workcrate } from '../server/start.ts';
import type { ServerInput } from './command.ts';
import { createLog } from '../platform/observability/log.ts';
import { createCallControl } from '../server/call-control.ts';
import { formatConnectLines } from '../server/connect-lines.ts';
import { keepMemorySmall } from '../server/small-memory.ts';
import { hasTerminal, ignoreHangup, waitForStopSignal } from '../platform/command-line/signals.ts';

/** `workcrate serve`: MCP and links over HTTP until stopped. */
export async function runServe({ config, extend }: ServerInput): Promise<number> {
  const calls = createCallControl();
  const log = createLog(config.logLevel);
  const isService = !hasTerminal();
  if (isService) ignoreHangup(log);
  await using workcrate = await startWorkcrate(config, { sharesMachine: false, calls, extend, log });
  // Only now: a signal ends a server that is still starting at once, whatever it is busy with.
  const stopped = waitForStopSignal(isService ? ['SIGINT', 'SIGTERM'] : undefined);
  process.stdout.write(buildGreeting(workcrate, config));
  void keepMemorySmall(calls);
  workcrate.log.info('stopping', { signal: await stopped });
  await workcrate.drain();
  return 0;
}

function buildGreeting({ url, baseUrl, codeRunsIn, python }: Workcrate, { data, auth }: Config): string {
  const asksForKeys = auth.includes('keys');
  return `workcrate listening on ${url}
  data folder:   ${data}${baseUrl === url ? '' : `\n  links:         ${baseUrl}/files/…`}
  code runs in:  ${codeRunsIn}${python === null ? '' : `\n  its Python:    ${python}`}
${formatConnectLines(baseUrl, asksForKeys ? 'YOUR_KEY' : null)}  other clients: MCP over Streamable HTTP at ${baseUrl}/mcp${asksForKeys ? ', with the header Authorization: Bearer YOUR_KEY' : ''}
  stop with Ctrl-C
`;
}
