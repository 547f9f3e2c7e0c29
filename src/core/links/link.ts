/**
 * A link as a row of the database: its terms, its token and its state. Only the hash of a token is stored. This file does
 * not find what a link points at (`download.ts` does) and does not use a link up (`single-use.ts` does).
 */
import { hash, randomBytes } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Queries, Row } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Files } from '../files/files.ts';
import type { Caller } from '../identity.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Storage } from '../../ports/storage/storage.ts';
import { checkNotRemoved } from '../users/users.ts';
import type { Download } from './download.ts';

/** Finds what is neither a file nor a bundle, by references that mean nothing to this room. */
export interface ExternalTargets {
  /**
   * Called for every download. Rejects with `bytes_gone` where the target is gone or is no longer what the reference
   * means, and with `source_unreachable` where that is unknown. It calls `renew` where the target has another reference
   * from now on.
   */
  download(reference: string, renew: (reference: string) => Promise<unknown>): Promise<Download>;
}

export interface LinksOptions {
  readonly database: Database;
  readonly storage: Storage;
  readonly files: Files;
  readonly uploadTtl: number;
  readonly maxBundleFiles: number;
  readonly externalTargets?: ExternalTargets;
  /** Whether the server ends with the client that started it, and all links with it. */
  readonly endsWithClient?: boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** How often the cache of links had an answer, for the metrics. */
  readonly lookups?: { hits: number; misses: number };
}

export interface LinkTerms {
  readonly ttlSeconds: number;
  readonly singleUse: boolean;
}

/** An expiring right to download one file, one bundle, or one external target. */
export interface Link {
  readonly tokenHash: string;
  readonly id: string;
  readonly owner: string;
  readonly fileId: string | null;
  readonly bundleId: string | null;
  /** The reference of an external target; only `externalTargets` understands it. */
  readonly target: string | null;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly singleUse: boolean;
  readonly revokedAt: number | null;
  /** When a single-use link was used up. */
  readonly consumedAt: number | null;
  /** How far, from the start, a single-use link has been delivered. */
  readonly delivered: number;
  readonly downloads: number;
  readonly bytesSent: number;
  readonly lastUsedAt: number | null;
}

export function linkFromRow(row: Row): Link {
  return {
    tokenHash: row['token_hash'] as string,
    id: row['id'] as string,
    owner: row['owner'] as string,
    fileId: row['file_id'] as string | null,
    bundleId: row['bundle_id'] as string | null,
    target: row['target'] as string | null,
    createdAt: row['created_at'] as number,
    expiresAt: row['expires_at'] as number,
    singleUse: row['single_use'] === 1,
    revokedAt: row['revoked_at'] as number | null,
    consumedAt: row['consumed_at'] as number | null,
    delivered: row['delivered'] as number,
    downloads: row['downloads'] as number,
    bytesSent: row['bytes_sent'] as number,
    lastUsedAt: row['last_used_at'] as number | null,
  };
}

export type LinkState = 'active' | 'used' | 'revoked' | 'expired';

export function getLinkState(link: Link, now: number): LinkState {
  if (link.revokedAt !== null) return 'revoked';
  if (link.consumedAt !== null) return 'used';
  return link.expiresAt <= now ? 'expired' : 'active';
}

export async function insertLink(tx: Queries, caller: Caller, link: Link): Promise<void> {
  await checkNotRemoved(tx, caller, link.createdAt);
  await tx.query(
    `INSERT INTO links (token_hash, id, owner, file_id, bundle_id, target, created_at, expires_at, single_use)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    link.tokenHash,
    link.id,
    link.owner,
    link.fileId,
    link.bundleId,
    link.target,
    link.createdAt,
    link.expiresAt,
    link.singleUse ? 1 : 0,
  );
}

/** Why a known link does not work. For the operator only: the client must not learn that it exists. */
export class DeadLink extends Error {
  readonly owner: string;
  readonly state: LinkState;

  constructor({ owner }: Link, state: LinkState) {
    super(`The link is ${state}.`);
    this.owner = owner;
    this.state = state;
  }
}

export function linkNotFoundError(cause?: DeadLink): WorkcrateError {
  return new WorkcrateError('link_not_found', 'File not found or expired', { cause });
}

export function bytesGoneError(): WorkcrateError {
  return new WorkcrateError('bytes_gone', 'File no longer available');
}

export function fileNotFoundError(id: string): WorkcrateError {
  return new WorkcrateError(
    'not_found',
    `No file of yours has the id ${JSON.stringify(id.slice(0, 60))}, or it has expired. list_files shows what there is.`,
  );
}

/** A new link and its token: the only time that the token is known. */
export function mintLink(
  caller: Caller,
  to: Partial<Pick<Link, 'fileId' | 'bundleId' | 'target'>>,
  terms: LinkTerms,
  createdAt: number,
): { token: string; link: Link } {
  const token = createToken();
  const tokenHash = hashLinkToken(token);
  const link: Link = {
    tokenHash,
    id: toPublicId(tokenHash),
    owner: caller.user,
    fileId: null,
    bundleId: null,
    target: null,
    ...to,
    createdAt,
    expiresAt: createdAt + terms.ttlSeconds * 1000,
    singleUse: terms.singleUse,
    revokedAt: null,
    consumedAt: null,
    delivered: 0,
    downloads: 0,
    bytesSent: 0,
    lastUsedAt: null,
  };
  return { token, link };
}

/**
 * A secret that allows a download or an upload: 32 random bytes. Only its hash is ever stored, and it is never logged.
 */
export function createToken(): string {
  return randomBytes(32).toString('base64url');
}

const linkTokenForm = /^[A-Za-z0-9_-]{43}$/;

/** Whether a string has the form of a token, so that nothing else is looked up. */
export function isToken(value: string): boolean {
  return linkTokenForm.test(value);
}

export function hashLinkToken(token: string): string {
  return hash('sha256', token, 'hex');
}

/** The name of a link or upload for people and logs: it opens nothing. */
export function toPublicId(tokenHash: string): string {
  return tokenHash.slice(0, 16);
}
