/** What the tools that pages call answer, by their names: the types of their schemas, in the forms that pages ask for. */
import type { z } from 'zod';
import type { artifactListShape } from '../../core/artifacts/tools.ts';
import type { auditPageShape } from '../../core/audit/tools.ts';
import type { fileListShape } from '../../core/files/tools.ts';
import type { linkShape } from '../../core/links/link-result.ts';
import type { linkStateShape } from '../../core/links/status-tools.ts';
import type { requestedUploadShape } from '../../core/links/tools.ts';
import type { EndedRunAnswer } from '../../core/runs/answer.ts';
import type { pageShape, RunWithOutput } from '../../core/runs/schema.ts';
import type { sessionOutcomeShape } from '../../core/runs/sessions/manage-tool.ts';
import type { sessionListShape } from '../../core/runs/sessions/schema.ts';
import type { packageListShape } from '../../features/packages/schema.ts';
import type { BuiltDocument, CheckedCitations } from './built-document.ts';
import type { CrateCheck } from './crate-check.ts';
import type { CrateListing, CrateOnPage } from './crate.ts';
import type { FoundCrates, IndexState } from './found-crates.ts';
import type { PackedAnswer } from './packed.ts';

type Link = z.output<typeof linkShape>;

export interface ToolAnswers {
  build_exports_content: BuiltDocument;
  cancel_execution: unknown;
  close_session: unknown;
  delete_file: unknown;
  download_crate: Pick<Link, 'downloadUrl'>;
  execute_bash: EndedRunAnswer;
  execute_code: EndedRunAnswer;
  get_artifact: Link;
  get_crate: CrateOnPage;
  get_execution: RunWithOutput;
  index_status: IndexState;
  /** Of many: with the id of one link it has the fields of that. */
  link_status: { links: z.output<typeof linkStateShape>[]; next: string | null };
  list_artifacts: z.output<typeof artifactListShape>;
  list_crate_files: CrateListing;
  list_files: z.output<typeof fileListShape>;
  list_packages: z.output<typeof packageListShape>;
  list_sessions: z.output<typeof sessionListShape>;
  manage_session: z.output<typeof sessionOutcomeShape>;
  pack_crate: PackedAnswer;
  read_crate_file: Pick<Link, 'downloadUrl'>;
  request_upload: z.output<typeof requestedUploadShape>;
  revoke_link: unknown;
  search_audit: z.output<typeof auditPageShape>;
  search_executions: z.output<typeof pageShape>;
  search_index: FoundCrates;
  share_file: Link;
  sync_index: unknown;
  validate_citations: CheckedCitations;
  validate_crate: CrateCheck;
}
