/**
 * What operators see and do across users, behind the scope `operator` and with a line of the audit log for each. It
 * only puts together what rooms know; the views are in `surfaces/pages/`, and what a single user may do is done by tools.
 */
import { getAuditFolder, type Audit } from '../core/audit/audit.ts';
import { formatRemark } from '../core/audit/chain.ts';
import { listServerPlaces, readRemembered } from '../core/audit/read.ts';
import { verifyAudit } from '../core/audit/verify.ts';
import { auditRequests } from '../core/audit/wrappers.ts';
import type { Clock } from '../platform/clock.ts';
import type { ServerConfig as Config } from './settings.ts';
import type { Crates } from '../features/crates/crates.ts';
import type { Database } from '../ports/database/database.ts';
import { isWorkcrateError, WorkcrateError } from '../platform/errors.ts';
import { findRunOwner, listRunningRuns } from '../core/runs/store.ts';
import type { Executions } from '../core/runs/executions.ts';
import { listUserUsage, type UserUsage } from './instrumentation/counts.ts';
import type { MetricsHistory } from '../platform/observability/history.ts';
import { findLinkOwner, listLinksOfAll } from '../core/links/all-links.ts';
import type { Links } from '../core/links/links.ts';
import {
  mayOperate,
  sumSpace,
  type OperatorAccess,
  type OperatorStatus,
  type RunOfAll,
  type UserOfAll,
  type Visitor,
} from '../surfaces/pages/pages.ts';
import { programName } from '../platform/program.ts';
import { readLastBackup } from './last-backup.ts';
import { describeServerPlace } from './server-id.ts';
import type { ServerStatus } from './status.ts';
import type { MeasureFolders } from './user-folders.ts';
import { countPackedCrates } from './user-usage.ts';

export interface OperatorAccessOptions {
  readonly config: Config;
  readonly database: Database;
  /** The id of this server, whose audit log it is. */
  readonly server: string;
  readonly status: () => Promise<ServerStatus>;
  readonly history: Pick<MetricsHistory, 'plot' | 'readTrouble'>;
  readonly executions: Pick<Executions, 'cancel'>;
  readonly links: Pick<Links, 'revoke' | 'flush'>;
  readonly crates: Pick<Crates, 'isIndexed' | 'packedBytes' | 'status'>;
  readonly measureFolders: MeasureFolders;
  readonly audit: Audit;
  readonly clock: Clock;
}

const mostRuns = 500;
const linksOnPage = 50;

export function createOperatorAccess(options: OperatorAccessOptions): OperatorAccess {
  const { database, history, executions, links, audit, clock } = options;
  const noted = auditRequests(audit);

  /** Does something for an operator, and notes it; refuses everybody else, and notes that. */
  const operate = async <T>(
    { operation, subject = null }: { readonly operation: string; readonly subject?: string | null },
    visitor: Visitor,
    work: (tell: (facts: { owner: string }) => void) => Promise<T>,
  ): Promise<T> =>
    noted({ operation, user: visitor.caller.user, subject, signal: visitor.signal }, async (tell) => {
      tell({ via: 'page' });
      demandOperatorScope(visitor);
      return work(tell);
    });

  /** Several who ask at once get the answer of one reading. */
  let verifying: ReturnType<OperatorAccess['verifyAudit']> | null = null;
  const verifyOnce = (): ReturnType<OperatorAccess['verifyAudit']> =>
    (verifying ??= verifyLog(options).finally(() => (verifying = null)));

  return {
    serverName: describeServerPlace(options.config.data),
    isShared: database.isShared,

    demand: async (visitor) => {
      if (!mayOperate(visitor)) await operate({ operation: 'operate' }, visitor, async () => {});
    },

    status: (visitor) =>
      operate({ operation: 'operate_status' }, visitor, async () => ({
        status: await readOperatorStatus(options, visitor),
        history: await history.plot(),
      })),

    users: (visitor) => operate({ operation: 'operate_users' }, visitor, () => listUsersBySpace(options)),

    runs: (visitor) => operate({ operation: 'operate_runs' }, visitor, () => listRunsOfAll(options)),

    async endRun(visitor, id) {
      await operate({ operation: 'operate_end_run', subject: id }, visitor, async (tell) => {
        const owner = await findRunOwner(database, id);
        if (owner === null) throw new WorkcrateError('not_found', 'No run has this id.');
        tell({ owner });
        await executions.cancel({ user: owner }, id, 'operator');
      });
      await audit.synced();
    },

    links: (visitor, { user, after }) =>
      operate({ operation: 'operate_links', subject: user === '' ? null : user }, visitor, async () => {
        await links.flush();
        const wanted = {
          owner: user === '' ? null : user,
          after: after === '' ? null : after,
          limit: linksOnPage,
        };
        return listLinksOfAll(database, wanted, clock());
      }),

    async revokeLink(visitor, id) {
      await operate({ operation: 'operate_revoke_link', subject: id }, visitor, async (tell) => {
        const owner = await findLinkOwner(database, id);
        if (owner === null) throw new WorkcrateError('not_found', 'No link has this id, or it has expired.');
        tell({ owner });
        await links.revoke({ user: owner }, id);
      });
      await audit.synced();
    },

    verifyAudit: (visitor) => operate({ operation: 'operate_verify_audit' }, visitor, verifyOnce),
  };
}

async function listRunsOfAll({ config, database, server }: OperatorAccessOptions): Promise<RunOfAll[]> {
  const runs = await listRunningRuns(database, mostRuns);
  const places = new Map([...(await listServerPlaces(database)), [server, describeServerPlace(config.data)]]);
  const getName = (id: string | null): string => places.get(id ?? '') ?? `unknown (${id ?? 'not noted'})`;
  return runs.map((run) => ({ ...run, serverName: getName(run.server) }));
}

function demandOperatorScope(visitor: Visitor): void {
  if (mayOperate(visitor)) return;
  throw new WorkcrateError(
    'forbidden',
    `This page is for operators, and your key has no operator scope. Whoever runs the server makes a key with it: ${programName} user add NAME --scopes operator.`,
    { details: { scope: 'operator' } },
  );
}

async function readOperatorStatus(options: OperatorAccessOptions, visitor: Visitor): Promise<OperatorStatus> {
  const { config, history, clock } = options;
  const status = await options.status();
  const { files, disk, backends, last_sweep, runs } = status;
  return {
    version: status.version,
    node: status.node,
    startedAt: Date.parse(status.started_at),
    ready: status.ready,
    notReadyBecause: status.not_ready_because,
    backends: [
      ['Database', backends.database],
      ['Storage', backends.storage],
      ['Code runs in', backends.sandbox],
      ['Signing in', backends.auth.length === 0 ? 'not needed' : backends.auth.join(', ')],
    ],
    disk: disk && { freeBytes: disk.free_bytes, totalBytes: disk.total_bytes },
    files: {
      bytes: files.bytes,
      mostBytes: files.most_bytes,
      count: files.kept,
      mostCount: files.most_files,
    },
    users: status.users,
    activeLinks: status.links.active,
    runs: { running: runs.running, queued: runs.queued, most: runs.most },
    transfers: status.transfers,
    sweptAt: last_sweep === null ? null : Date.parse(last_sweep),
    backedUpAt: await readLastBackup(config.data),
    sources: await listSyncedSources(options, visitor),
    trouble: await history.readTrouble(),
    now: clock(),
  };
}

/** Null where the index does not answer: the rest of the page is wanted then too. */
async function listSyncedSources(
  { crates }: OperatorAccessOptions,
  { caller, signal }: Visitor,
): Promise<OperatorStatus['sources']> {
  if (!crates.isIndexed()) return [];
  try {
    const { sources } = await crates.status(caller, { limit: 1, offset: 0 }, signal);
    return sources.map(({ synced_at: syncedAt, source, state, reason }) => ({
      syncedAt,
      source,
      state,
      reason,
    }));
  } catch (error) {
    if (!isWorkcrateError(error)) throw error;
    return null;
  }
}

/** Users beyond so many are not measured: their names, files and runs are told. */
const mostMeasured = 500;

async function listUsersBySpace(options: OperatorAccessOptions): Promise<UserOfAll[]> {
  const all = await listUserUsage(options.database, options.clock());
  const byBytes = all.toSorted((a, b) => b.bytes - a.bytes);
  const users: UserOfAll[] = [];
  for (const [at, user] of byBytes.entries())
    users.push(at < mostMeasured ? await measureUser(options, user) : toUserOfAll(options, user, unmeasured));
  return users.toSorted((a, b) => sumSpace(b) - sumSpace(a));
}

const unmeasured = { workspace: null, artifacts: null, packages: null, crates: null };

async function measureUser(options: OperatorAccessOptions, user: UserUsage): Promise<UserOfAll> {
  const folders = await options.measureFolders(user.user);
  const { bytes: crates } = await countPackedCrates(options.crates, user.user);
  return toUserOfAll(options, user, { ...folders, crates });
}

function toUserOfAll(
  { config }: OperatorAccessOptions,
  { user, files, bytes, activeLinks, runs, lastRunAt, keyUsedAt }: UserUsage,
  measured: Pick<UserOfAll, keyof typeof unmeasured>,
): UserOfAll {
  const lastUseAt =
    lastRunAt === null && keyUsedAt === null ? null : Math.max(lastRunAt ?? 0, keyUsedAt ?? 0);
  return {
    user,
    files,
    bytes,
    mostBytes: config.quotaUserBytes,
    ...measured,
    activeLinks,
    runs,
    lastUseAt,
  };
}

async function verifyLog({ config, database, server }: OperatorAccessOptions) {
  // Before the log is read: it goes on meanwhile.
  const remembered = await readRemembered(database, server);
  const result = await verifyAudit(getAuditFolder(config.data), config.auditKey, remembered);
  return {
    ...result,
    problems: result.problems.map(formatRemark),
    notes: result.notes.map(formatRemark),
  };
}
