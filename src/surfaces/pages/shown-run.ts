/** A run as get_execution answers it: the fields that pages show. */
import type { ListedRun } from './runs.ts';

export interface ShownResult {
  readonly kind: 'value' | 'display' | 'figure';
  readonly text: string;
  readonly cut: boolean;
  readonly rows: number | null;
  readonly columns: number | null;
  readonly parts: readonly {
    readonly mime: string;
    readonly size: number;
    readonly file_id: string | null;
    readonly problem: string | null;
  }[];
}

export interface GivenInput {
  readonly file_id: string | null;
  readonly origin: Readonly<Record<string, string>> | null;
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
}

export interface ShownRun extends ListedRun {
  readonly tool: string;
  readonly working_dir: string;
  readonly stdin_bytes: number;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly stdout_file: string | null;
  readonly stderr_file: string | null;
  readonly results: readonly ShownResult[];
  readonly more_results: number;
  readonly artifacts: {
    readonly created: readonly string[];
    readonly modified: readonly string[];
    readonly deleted: readonly string[];
    readonly complete: boolean;
    readonly removed: { readonly files: number; readonly bytes: number; readonly complete: boolean } | null;
  };
  readonly temporary_files: {
    readonly files: readonly { readonly path: string; readonly size: number }[];
    readonly more: number;
    readonly complete: boolean;
  } | null;
  /** As they were at its end; null where nobody hashed them. */
  readonly result_files: {
    readonly files: readonly {
      readonly path: string;
      readonly size: number;
      readonly sha256: string | null;
      readonly note: string | null;
    }[];
    readonly more: number;
  } | null;
  readonly inputs: readonly GivenInput[];
  readonly known_inputs: readonly {
    readonly path: string;
    readonly size: number;
    readonly sha256: string | null;
    readonly how: 'opened' | 'found';
    readonly made_by: string | null;
  }[];
  readonly inputs_may_be_incomplete: boolean;
  readonly input_notes: readonly string[];
  readonly libraries: Readonly<Record<string, string>>;
  readonly network: {
    readonly hosts: readonly {
      readonly host: string;
      readonly port: number;
      readonly requests: number;
      readonly sent_bytes: number;
      readonly received_bytes: number;
    }[];
    readonly refused: readonly {
      readonly host: string;
      readonly port: number | null;
      readonly why: string;
      readonly count: number;
    }[];
    readonly more: number;
  } | null;
  readonly tool_calls: {
    readonly count: number;
    readonly calls: readonly { readonly tool: string; readonly outcome: string; readonly ms: number }[];
  } | null;
  readonly guard:
    | readonly {
        readonly when: string;
        readonly verdict: string;
        readonly rules: readonly { readonly rule: string; readonly count: number }[];
        readonly reason: string | null;
      }[]
    | null;
  readonly limits: {
    readonly timeout_ms: number;
    readonly memory_bytes: number;
    readonly processes: number;
    readonly cpus: number;
    readonly disk_bytes: number;
    readonly sandbox: string;
    readonly runtime: string | null;
    readonly unenforced: readonly string[];
  };
  readonly session_id: string | null;
  readonly cell: number | null;
  readonly state: 'kept' | 'lost' | null;
  readonly background: string | null;
  readonly cancelled_by: string | null;
  readonly script: string | null;
  readonly peak_memory_bytes: number | null;
  readonly trace_id: string | null;
  readonly running_elsewhere?: boolean;
}
