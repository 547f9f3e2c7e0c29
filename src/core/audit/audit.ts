/**
 * The door of the audit log for all rooms: what an event is, and the `Audit` interface to note one. It has no code that
 * writes: `open.ts` makes an `Audit`, and the wrappers note most events.
 */
import { join } from 'node:path';

/** How severe a line is. Successes are traces; what was attempted and refused is a warning. */
export const auditLevels = ['trace', 'info', 'warning'] as const;

export type AuditLevel = (typeof auditLevels)[number];

/** Something that somebody did, or tried to do. Never a secret, a token or content. */
export interface AuditEvent {
  readonly level: AuditLevel;
  /** Such as `read_client_file`, `download`, `execute_code`. */
  readonly operation: string;
  readonly user: string;
  /** Name and version that the client gave itself; null where there is none. */
  readonly client: string | null;
  /** Path, file, execution or crate that it was about; null where there is none. */
  readonly subject: string | null;
  /** `ok`, or the code of an error. */
  readonly result: string;
  /** Further facts, such as the kind of a violation, or which method was used. */
  readonly details?: Details;
}

export type Details = Readonly<Record<string, string | number | boolean | null>>;

/** The one writer for every room. */
export interface Audit extends AsyncDisposable {
  /**
   * Writes a line at once: it survives the end of this process, and within a second a loss of power. Never throws:
   * what cannot be written waits, and the log of the server says so.
   */
  note(event: AuditEvent): void;
  /** The same, at the end of this turn of the event loop: for lines that no answer waits for, such as downloads. */
  noteSoon(event: AuditEvent): void;
  /**
   * Resolves once all lines so far are on disk. Calls that change something wait for it before they answer, and share
   * one sync. If it fails, the log of the server says so, and it resolves all the same.
   */
  synced(): Promise<void>;
  /**
   * A violation: a warning with its kind, where it was refused, and how often this user has tried the like before.
   * Returns that count. Of many within a minute only the first are lines; one more line counts the rest.
   */
  violation(event: Omit<AuditEvent, 'level'>, kind: string, cause: Error): number;
  /** Writes what is still being counted, and resolves once all is on disk; rejects where that fails. */
  flush(): Promise<void>;
}

/** What a request is about. */
export interface AuditedRequest {
  readonly operation: string;
  /** Null if it is not known. */
  readonly user: string | null;
  readonly subject: string | null;
  /** Fires when the caller has gone. */
  readonly signal?: AbortSignal | undefined;
}

/** Does the work of a request, and notes how it ended. The work may add details by `tell`. */
export type NoteRequest = <T>(
  asked: AuditedRequest,
  work: (tell: (facts: Details) => void) => Promise<T>,
) => Promise<T>;

/** In place of an unknown user: no user has this name. */
export const noAuditUser = '-';

/** The folder of the log in the data folder. */
export const getAuditFolder = (data: string): string => join(data, 'audit');
