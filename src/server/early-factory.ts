/**
 * MCP for a client that is answered before the server is open, as over stdio: it is told what the server is and which
 * tools it has, and its calls wait (decision 036). It opens nothing, and imports little, since all of that is loaded
 * before the first answer.
 */
import type { McpServerFactory } from '@modelcontextprotocol/server';
import type { ServerConfig as Config } from './settings.ts';
import { asWorkcrateError, WorkcrateError } from '../platform/errors.ts';
import type { JudgeAnswer } from '../core/offer/judge.ts';
import { wrapHandler } from '../surfaces/mcp/handlers.ts';
import { deferOffer } from '../surfaces/mcp/late-offer.ts';
import { createServerFactory, type ExtendServer } from '../surfaces/mcp/server.ts';
import { deferUpstream } from '../core/offer/upstream.ts';
import type { Log } from '../platform/observability/log.ts';
import type { CallControl } from './call-control.ts';
import { features } from './features.ts';
import { createClosedOffer, toFactoryTerms } from './offer.ts';
import { findJudging } from './open-features.ts';
import { recallSurroundings } from './remembered-surroundings.ts';
import type { Workcrate } from './start.ts';

export interface EarlyFactoryOptions {
  /** Rejects where the start fails: calls that wait are answered with the reason. */
  readonly opening: Promise<
    Pick<Workcrate, 'offer' | 'refused' | 'answered' | 'judge' | 'metrics' | 'tasks' | 'upstream'>
  >;
  readonly calls: CallControl;
  readonly log: Log;
  readonly extend: ExtendServer | undefined;
}

export interface EarlyFactory {
  readonly factory: McpServerFactory;
  /** Resolves once the tools have been listed, or a room is needed: then there is time, or need, to open the rest. */
  readonly greeted: Promise<void>;
}

/** The factory of MCP servers for the one client that shares this machine. */
export async function createEarlyFactory(
  config: Config,
  { opening, calls, log, extend }: EarlyFactoryOptions,
): Promise<EarlyFactory> {
  const opened = opening.then(({ offer }) => offer, explainFailedStart);
  // Where no call waits, nobody else hears of it here.
  opened.catch(() => {});
  const tasks = opening.then((server) => server.tasks, explainFailedStart);
  tasks.catch(() => {});
  const upstream =
    config.gateway === null
      ? undefined
      : deferUpstream(opening.then((server) => server.upstream, explainFailedStart));
  const once = (act: (server: Awaited<typeof opening>) => void): void => void opening.then(act, () => {});
  const { promise: greeted, resolve: greet } = Promise.withResolvers<void>();
  const offer = deferOffer(await createClosedOffer(config, recallSurroundings(config)), () => {
    greet();
    return opened;
  });
  const judged = opening.then((server) => server.judge!, explainFailedStart);
  judged.catch(() => {});
  // What was not judged is not shown, however early it is.
  const judge: JudgeAnswer | undefined =
    findJudging(features, config) === undefined
      ? undefined
      : async (method, context, work) => {
          greet();
          return (await judged)(method, context, work);
        };
  const factory = createServerFactory({
    ...toFactoryTerms(config),
    ...calls,
    ...offer,
    opened,
    tasks,
    upstream,
    metrics: {
      toolCalls: { inc: (labels) => once(({ metrics }) => metrics.toolCalls.inc(labels)) },
      mcpRequests: { inc: (labels) => once(({ metrics }) => metrics.mcpRequests.inc(labels)) },
    },
    refused: (call) => once(({ refused }) => refused(call)),
    answered: (request) => once(({ answered }) => answered(request)),
    judge,
    sharesMachine: true,
    extend(server, parts) {
      extend?.(server, parts);
      // Its answer is written first.
      wrapHandler(server, 'tools/list', (handle) => (request, context) => {
        setImmediate(greet);
        return handle(request, context);
      });
    },
    log,
  });
  return { factory, greeted };
}

/** The client started this server itself, so it may know the reason, as it may read it on stderr. */
function explainFailedStart(cause: unknown): never {
  const { message } = asWorkcrateError(cause);
  throw new WorkcrateError('stopping', `Workcrate could not start: ${message}`, { cause });
}
