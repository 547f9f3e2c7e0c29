import { createOpenPins } from '../features/gateway/pins.ts';
import type { ServerConfig as Config } from '../server/settings.ts';
import { isWorkcrateError } from '../platform/errors.ts';
import type { ServerReport } from '../features/gateway/report.ts';
import { localCaller } from '../core/identity.ts';
import { createLog } from '../platform/observability/log.ts';
import { openServerGateway } from '../server/gateway.ts';
import type { Finding } from '../core/command.ts';

/** Whether the servers behind the gateway answer. Each is started for that, and ended again. */
export async function checkGateway(config: Config): Promise<Finding[]> {
  try {
    await using gateway = await openServerGateway({
      config,
      // Nothing is accepted by looking.
      pins: createOpenPins(),
      ownTools: () => new Set(),
      guard: null,
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
