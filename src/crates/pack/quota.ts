import { WorkcrateError } from '../../errors.ts';
import type { Quotas } from '../../files/files.ts';

export interface PackQuotaOptions {
  readonly quotas: Quotas;
  /** What is packed by now: one owner's, everybody's for null, or all of it. */
  readonly held: (owner?: string | null) => Promise<{ readonly bytes: number; readonly crates: number }>;
}

/**
 * Holds packed crates to the quotas of files, beside those. What everybody sees counts as one owner's, so nobody fills
 * the server by sharing. Nothing is promised here: two packings at once may both see the last room and both take it,
 * and so may one before the index has taken in the last; the next after that is refused.
 */
export function packQuota({ quotas, held }: PackQuotaOptions) {
  return async (owner: string | null, size: number): Promise<void> => {
    const { userBytes, userFiles, totalBytes, totalFiles } = quotas;
    const own = await held(owner);
    if (own.bytes + size > userBytes || own.crates >= userFiles) {
      const whose = owner === null ? 'Shared crates' : 'Your packed crates';
      const most = `${whose} may take ${userBytes} bytes in ${userFiles} crates`;
      throw exceeded(`${most}, and take ${own.bytes} bytes in ${own.crates}; this one has ${size} bytes`);
    }
    const all = await held();
    // How much others hold is nobody's business.
    if (all.bytes + size > totalBytes || all.crates >= totalFiles)
      throw exceeded('This server has no room left for packed crates');
  };
}

function exceeded(reason: string): WorkcrateError {
  return new WorkcrateError(
    'quota_exceeded',
    `Over quota. ${reason}. Pack less, or ask the operator to delete packed crates from the folder or prefix of --pack-to and then sync_index, or to raise the quota.`,
  );
}
