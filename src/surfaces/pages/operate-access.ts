/**
 * What the views for operators are given: figures of the server, and users, runs and links of all. Every function
 * demands the scope `operator` and writes a line of the audit log, also where it refuses (`server/operator.ts`).
 */
import type { RunningRun } from '../../core/runs/executions.ts';
import type { LinksOfAll } from '../../core/links/links.ts';
import type { PlottedHistory, RecentTrouble } from '../../platform/observability/history.ts';
import type { Visitor } from './routing.ts';

export interface OperatorStatus {
  readonly version: string;
  readonly node: string;
  readonly startedAt: number;
  readonly ready: boolean;
  readonly notReadyBecause: string | null;
  readonly backends: readonly (readonly [what: string, which: string])[];
  readonly disk: { readonly freeBytes: number; readonly totalBytes: number } | null;
  /** What is stored of all users, against the quota of all. */
  readonly files: Quota & { readonly count: number; readonly mostCount: number };
  readonly users: number;
  readonly activeLinks: number;
  readonly runs: { readonly running: number; readonly queued: number; readonly most: number };
  readonly transfers: { readonly in: number; readonly out: number };
  readonly sweptAt: number | null;
  /** When the operator's backup last said that it was done; null where it never did. */
  readonly backedUpAt: number | null;
  /** Null where they cannot be asked. */
  readonly sources: readonly SyncedSource[] | null;
  readonly trouble: RecentTrouble;
  readonly now: number;
}

export interface SyncedSource {
  readonly source: string;
  readonly state: string;
  readonly reason: string | null;
  readonly syncedAt: string | null;
}

export interface Quota {
  readonly bytes: number;
  readonly mostBytes: number;
}

/** A user, with all that is known to take space; null is what could not be counted. */
export interface UserOfAll extends Quota {
  readonly user: string;
  readonly files: number;
  readonly workspace: number | null;
  readonly artifacts: number | null;
  readonly packages: number | null;
  readonly crates: number | null;
  readonly activeLinks: number;
  readonly runs: number;
  readonly lastUseAt: number | null;
}

/** A run under way, with the name of the server that it runs on. */
export type RunOfAll = RunningRun & { readonly serverName: string };

/** What was found by reading the whole log. */
export interface VerifiedAudit {
  readonly ok: boolean;
  readonly files: number;
  readonly lines: number;
  readonly first: { readonly seq: number; readonly time: string } | null;
  readonly last: { readonly seq: number; readonly time: string } | null;
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}

export interface OperatorAccess {
  /** The server that answers, by its machine and data folder. */
  readonly serverName: string;
  /** Whether other servers may use the same database. */
  readonly isShared: boolean;
  /** Rejects for everybody else: for what is had by a tool, which such a visitor does not have. */
  demand(visitor: Visitor): Promise<void>;
  status(visitor: Visitor): Promise<{ readonly status: OperatorStatus; readonly history: PlottedHistory }>;
  /** Who takes most first. */
  users(visitor: Visitor): Promise<readonly UserOfAll[]>;
  /** The longest first, up to a bound. */
  runs(visitor: Visitor): Promise<readonly RunOfAll[]>;
  /** Ends a run of anybody, on whichever server it runs, and waits for that. */
  endRun(visitor: Visitor, id: string): Promise<void>;
  links(visitor: Visitor, wanted: { readonly user: string; readonly after: string }): Promise<LinksOfAll>;
  revokeLink(visitor: Visitor, id: string): Promise<void>;
  verifyAudit(visitor: Visitor): Promise<VerifiedAudit>;
}
