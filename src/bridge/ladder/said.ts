import { WorkcrateError } from '../../errors.ts';

/** What was said of a file before it came; null where nothing was. */
interface Said {
  readonly size: number | null;
  readonly sha256: string | null;
}

interface Came {
  readonly size: number;
  readonly sha256: string;
}

/** Refuses a file that is not what it was said to be. Nothing of it is kept. */
export function demandSame(came: Came, said: Said): void {
  const found = difference(came, said);
  if (found === 'size')
    throw new WorkcrateError(
      'size_mismatch',
      `${said.size} bytes were announced, but ${came.size} arrived. Nothing was kept; check the file and call again.`,
    );
  if (found === 'sha256')
    throw new WorkcrateError(
      'hash_mismatch',
      `The received bytes have the sha256 ${came.sha256}, not the announced one. Nothing was kept; call again.`,
    );
}

export function difference({ size, sha256 }: Came, said: Said): 'size' | 'sha256' | null {
  if (said.size !== null && said.size !== size) return 'size';
  return said.sha256 !== null && said.sha256 !== sha256 ? 'sha256' : null;
}
