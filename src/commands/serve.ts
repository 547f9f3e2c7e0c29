import type { Config } from '../config.ts';
import { startWorkcrate, type Workcrate } from '../workcrate.ts';
import type { CommandInput } from './command.ts';
import { stopSignal } from './stopping.ts';

/** `workcrate serve`: MCP and links over HTTP until stopped. */
export async function serve({ config }: CommandInput): Promise<number> {
  await using workcrate = await startWorkcrate(config, { sharesMachine: false });
  // Only now: a signal ends a server that is still starting at once, whatever it is busy with.
  const stopped = stopSignal();
  process.stdout.write(greeting(workcrate, config));
  workcrate.log.info('stopping', { signal: await stopped });
  await workcrate.drain();
  return 0;
}

function greeting({ url, codeRunsIn }: Workcrate, { data, publicUrl, auth }: Config): string {
  const header = auth.length === 0 ? '' : ` --header "Authorization: Bearer $WORKCRATE_KEY"`;
  return `workcrate listening on ${url}
  data folder:   ${data}${publicUrl === null ? '' : `\n  links:         ${publicUrl}/files/…`}
  code runs in:  ${codeRunsIn}
  Claude Code:   claude mcp add --transport http workcrate ${url}/mcp${header}
  VS Code:       code --add-mcp '{"name":"workcrate","type":"http","url":"${url}/mcp"}'
  other clients: MCP over Streamable HTTP at ${url}/mcp
  stop with Ctrl-C
`;
}
