/**
 * `workcrate gateway`: starts the server with other MCP servers behind it, and lets an operator look at changed
 * definitions of their tools and accept them. What the gateway does is in `gateway/`.
 */
import { describeDifference } from './difference.ts';
import { createOpenPins, createPins, type HeldDefinition, type Pins } from './pins.ts';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import { createLog } from '../../platform/observability/log.ts';
import { programName } from '../../platform/program.ts';
import { quoteName } from '../../platform/text/text.ts';
import { noteChange } from '../../core/audit/note-change.ts';
import type { CommandInput, Finding, KnownConfig } from '../../core/command.ts';
import { localCaller } from '../../core/identity.ts';
import type { ServerReport } from './report.ts';
import { openConfiguredGateway, type gatewaySettings } from './settings.ts';
import { formatMinute } from '../../platform/command-line/table.ts';
import { usageError } from '../../platform/command-line/usage-error.ts';

type GatewayConfig = KnownConfig<typeof gatewaySettings>;
type GatewayInput = CommandInput<GatewayConfig>;

const gatewaySubcommands: Readonly<
  Record<'diff' | 'accept', (pins: Pins, input: GatewayInput) => Promise<number>>
> = { diff: showHeld, accept: acceptTools };

/** `workcrate gateway [FILE]`, `workcrate gateway diff|accept`. The subcommands work beside a running server. */
export async function runGateway(input: GatewayInput): Promise<number> {
  const [first = ''] = input.words;
  if (!Object.hasOwn(gatewaySubcommands, first)) return serveGateway(input, first);
  const database = await input.program.openDatabase();
  try {
    return await gatewaySubcommands[first as 'diff' | 'accept'](createPins(database), input);
  } finally {
    await database.close();
  }
}

async function serveGateway(input: GatewayInput, file: string): Promise<number> {
  const gateway = file === '' ? input.config.gateway : file;
  if (gateway === null)
    throw usageError(
      `FILE is missing: name the file with mcpServers. Usage: ${programName} gateway FILE`,
      'gateway',
    );
  return input.program.serve({ gateway });
}

async function showHeld(pins: Pins, { flags }: GatewayInput): Promise<number> {
  const held = await pins.listHeld();
  process.stdout.write(flags['json'] === undefined ? formatHeld(held) : formatHeldJson(held));
  return held.length === 0 ? 0 : 1;
}

function formatHeld(held: readonly HeldDefinition[]): string {
  if (held.length === 0) return 'No tool behind the gateway is held back.\n';
  const parts = held.map(
    (one) =>
      `${one.server}, ${quoteName(one.tool)}, held back since ${formatMinute(one.heldAt)}\n${describeDifference(one.accepted, one.held)}\n`,
  );
  return `${parts.join('\n')}\nAccept with ${programName} gateway accept SERVER [TOOL]\n`;
}

function formatHeldJson(held: readonly HeldDefinition[]): string {
  const shown = held.map(({ server, tool, accepted, held: changed, heldHash, heldAt }) => ({
    server,
    tool,
    accepted: JSON.parse(accepted) as unknown,
    held: JSON.parse(changed) as unknown,
    held_hash: heldHash,
    held_at: new Date(heldAt).toISOString(),
  }));
  return `${JSON.stringify(shown, null, 2)}\n`;
}

const describeAcceptance = (server: string, tools: readonly string[]) => ({
  operation: 'gateway_accept',
  subject: server,
  details: { tools: tools.map(quoteName).join(' ') },
});

async function acceptTools(pins: Pins, { words }: GatewayInput): Promise<number> {
  const [, server = '', tool] = words;
  const accepted = await pins.accept(server, tool ?? null, async (tx, tools) => {
    if (tools.length > 0) await noteChange(tx, describeAcceptance(server, tools), Date.now());
  });
  if (accepted.length === 0)
    throw new WorkcrateError(
      'not_found',
      `Nothing is held back of ${quoteName(tool ?? server)}. ${programName} gateway diff shows what is.`,
    );
  process.stdout.write(`Accepted: ${accepted.map(quoteName).join(', ')}\n`);
  return 0;
}

/** Whether the servers behind the gateway answer. Each is started for that, and ended again. */
export async function checkGateway(config: GatewayConfig): Promise<Finding[]> {
  try {
    await using gateway = await openConfiguredGateway(config, {
      // Nothing is accepted by looking.
      pins: createOpenPins(),
      ownTools: () => new Set(),
      audit: { note() {} },
      log: createLog('off'),
    });
    return gateway === null ? [] : (await gateway.report(localCaller.user)).flatMap(describeServer);
  } catch (error) {
    if (!isWorkcrateError(error)) throw error;
    return [{ state: 'broken', what: error.message, remedy: 'See --gateway' }];
  }
}

function describeServer({ server, tools, refused, failure }: ServerReport): Finding[] {
  if (tools === null)
    return [{ state: 'note', what: failure!, remedy: 'Look at its entry in the gateway file' }];
  return [
    { state: 'ok', what: `the server ${server} behind the gateway answers: ${tools} tools` },
    ...refused.map((what) => ({
      state: 'note' as const,
      what: `${server} behind the gateway: not offered: ${what}`,
    })),
  ];
}
