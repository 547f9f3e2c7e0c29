import type { NoteRequest } from '../../core/audit/audit.ts';
import type { Artifacts } from '../../core/artifacts/artifacts.ts';
import type { Links } from '../../core/links/links.ts';
import type { Previews } from '../../platform/previews/previews.ts';

/** What the library needs beside tools, which give no bytes to a page: what they allow is asked of them first. */
export interface LibraryRooms {
  readonly links: Pick<Links, 'openOwn'>;
  readonly artifacts: Pick<Artifacts, 'use'>;
  readonly previews: Previews;
  /** Writes a line of the audit log for what no tool does. */
  readonly noted: NoteRequest;
  /** How long a link may live, in seconds. */
  readonly maxTtl: number;
}
