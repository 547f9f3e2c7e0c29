import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { z } from 'zod';
import type { Audit, AuditEvent } from '../core/audit/audit.ts';
import { auditTool, auditRefusedCalls } from '../core/audit/wrappers.ts';
import { WorkcrateError } from '../platform/errors.ts';
import { hashLinkToken, toPublicId } from '../core/links/link.ts';
import { furtherGroups, toolGroups, type Tool, type ToolContext } from '../core/offer/tool.ts';
import { loadConfig } from './settings.ts';
import { createClosedOffer } from './offer.ts';

/**
 * What the audit log shows of a call of each tool. `subject` is the argument that says what the call is about, the
 * first that was given; `made` the field of the answer that is shown where there is none; `files` the lists of files;
 * `link` what tells a new link by its public name; `details` what is repeated of the answer.
 */
const shown: Readonly<Record<string, string>> = {
  execute_code:
    'made: execution_id; files: files, client_files, crate_files; details: end_reason, exit_code, background',
  execute_bash:
    'made: execution_id; files: files, client_files, crate_files; details: end_reason, exit_code, background',
  get_execution: 'subject: execution_id; details: end_reason, exit_code',
  view_artifact: 'subject: name',
  view_file: 'subject: file_id',
  view_crate_file: 'subject: path, crate_id',
  send_piece: 'made: filename',
  cancel_execution: 'subject: execution_id',
  search_executions: '',
  start_session: 'subject: name; made: session_id',
  send_to_session:
    'made: execution_id; files: files, client_files, crate_files; details: end_reason, exit_code, background',
  close_session: 'subject: session_id',
  list_sessions: '',
  manage_session: 'subject: session_id',
  install_packages: 'subject: names',
  list_packages: '',
  remove_packages: 'subject: names',
  save_script: 'subject: name',
  get_script: 'subject: name',
  list_scripts: '',
  search_scripts: '',
  run_script:
    'made: execution_id; files: files, client_files, crate_files; details: end_reason, exit_code, background',
  delete_script: 'subject: name',
  list_artifacts: '',
  get_artifact: 'subject: name, artifact_path; link: token',
  request_upload: 'subject: filename; link: token',
  share_file: 'subject: path, file_id; link: token',
  bundle_files: 'subject: filename; files: file_ids; link: token',
  link_status: 'subject: link_id, token, file_id; made: filename, link_id',
  revoke_link: 'subject: link_id, token; made: link_id',
  list_files: 'subject: file_id',
  delete_file: 'subject: file_id',
  search_index: '',
  search_by_entity: '',
  list_searchable_fields: '',
  get_crate: 'subject: crate_id',
  list_crate_files: 'subject: crate_id',
  read_crate_file: 'subject: path, crate_id; link: token',
  download_crate: 'subject: crate_id; link: token',
  pack_crate:
    'subject: execution_id, session_id; made: filename; files: execution_ids, file_ids; link: token',
  sync_index: '',
  index_status: '',
  validate_crate: 'subject: crate_id',
  build_exports_content: 'subject: documentFile, outputBasename',
  validate_citations: 'subject: documentFile',
  search_library: '',
  bibliography_for: '',
  search_audit: '',
  read_client_file: 'subject: path',
  list_client_directory: 'subject: path',
  guide_cache_file: 'subject: path, forget',
  list_skills: '',
  read_skill: 'subject: name',
  read_docstring: 'subject: file',
  search_tools: '',
  call_tool: 'subject: name',
};

const token = 'A'.repeat(43);
const link = toPublicId(hashLinkToken(token));

/** As they are declared: tools are looked at here, and none is called. */
const { tools } = await createClosedOffer(
  { ...loadConfig({ 'zotero-library': 'users/1' }, {}).config, tools: ['all'] },
  null,
);

const context = {
  caller: { user: 'ada' },
  signal: new AbortController().signal,
  client: { name: 'a client 1.0' },
} as ToolContext;

/** Remembers the events that it is told of. */
function recorder(): { audit: Audit; events: AuditEvent[] } {
  const events: AuditEvent[] = [];
  const audit = { note: (event: AuditEvent) => void events.push(event), synced: async () => {} };
  return { audit: audit as unknown as Audit, events };
}

type Fields = Readonly<Record<string, unknown>>;

async function noteCall(tool: Tool, given: Fields, structured: Fields): Promise<AuditEvent> {
  const { audit, events } = recorder();
  const handle = async () => ({ text: '', structured });
  await auditTool({ ...tool, auditsItself: false, handle }, audit).handle(given, context);
  return events[0]!;
}

function noteRefusal(tool: Tool, given: Fields): AuditEvent {
  const { audit, events } = recorder();
  const error = new WorkcrateError('invalid_input', 'No.');
  auditRefusedCalls(audit, tools)({ tool: tool.name, given, user: 'ada', client: null, error });
  return events[0]!;
}

/** A token is told by its public name, and a text by itself. */
const sample = (name: string): string => (name === 'token' ? token : `the ${name}`);
const namesIn = ({ shape }: z.ZodObject): string[] => Object.keys(shape);
const fieldOf = ({ shape }: z.ZodObject, name: string) => shape[name] as z.ZodType;

/** Which field is shown, then which one without it, and so on. */
async function findOrder(
  names: readonly string[],
  show: (fields: Fields) => Promise<string | null>,
): Promise<string[]> {
  const fields = Object.fromEntries(names.map((name) => [name, sample(name)]));
  const subject = await show(fields);
  if (subject === null) return [];
  const found = subject === link ? 'token' : subject.replace(/^the /, '');
  return [
    found,
    ...(await findOrder(
      names.filter((name) => name !== found),
      show,
    )),
  ];
}

/** Their handlers refuse a call that names nothing, so nothing is made. */
const refuseWithout = new Set(['share_file', 'get_artifact']);

/** Whether a field may be missing, or null, in what a schema has parsed. */
const mayBeMissing = (field: z.ZodType): boolean =>
  [undefined, null].some((nothing) => {
    const parsed = field.safeParse(nothing);
    return parsed.success && (parsed.data ?? null) === null;
  });

/** What is shown of the answer where the arguments tell nothing. What comes after a field that is always there never is. */
async function findMade(tool: Tool, subject: readonly string[]): Promise<string[]> {
  if (refuseWithout.has(tool.name) || !subject.every((name) => mayBeMissing(fieldOf(tool.input, name))))
    return [];
  const made = await findOrder(
    namesIn(tool.output),
    async (fields) => (await noteCall(tool, {}, fields)).subject,
  );
  const always = made.findIndex((name) => !mayBeMissing(fieldOf(tool.output, name)));
  return always === -1 ? made : made.slice(0, always + 1);
}

async function findFiles(tool: Tool): Promise<string[]> {
  const lists = namesIn(tool.input).map((name) => [name, [name, { path: `${name}/b` }, 7]] as const);
  const { details } = await noteCall(tool, Object.fromEntries(lists), {});
  if (details?.['files'] === undefined) return [];
  const names = String(details['files']).split(' ');
  assert.equal(details['files_count'], names.length);
  assert.deepEqual(
    names.filter((_, at) => at % 2 === 1),
    names.filter((_, at) => at % 2 === 0).map((name) => `${name}/b`),
  );
  return names.filter((_, at) => at % 2 === 0);
}

async function describe(tool: Tool): Promise<string> {
  const subject = await findOrder(
    namesIn(tool.input),
    async (fields) => (await noteCall(tool, fields, {})).subject,
  );
  const answer = Object.fromEntries(namesIn(tool.output).map((name) => [name, sample(name)]));
  const { link: newLink, ...details } = (await noteCall(tool, {}, answer)).details ?? {};
  for (const [name, value] of Object.entries(details)) assert.equal(value, sample(name));
  if (newLink !== undefined) assert.equal(newLink, link);
  const parts = {
    subject,
    made: await findMade(tool, subject),
    files: await findFiles(tool),
    link: newLink === undefined ? [] : ['token'],
    details: Object.keys(details),
  };
  return Object.entries(parts)
    .filter(([, names]) => names.length > 0)
    .map(([part, names]) => `${part}: ${names.join(', ')}`)
    .join('; ');
}

test('the audit log shows the same of each tool as it did when tools did not declare it', async () => {
  const found: Record<string, string> = {};
  for (const tool of tools)
    found[tool.name] = tool.auditsItself ? await describeRefused(tool) : await describe(tool);
  assert.deepEqual(found, shown);
});

/** One that writes its own lines: only refused calls are told for it. */
async function describeRefused(tool: Tool): Promise<string> {
  const subject = await findOrder(namesIn(tool.input), async (fields) => noteRefusal(tool, fields).subject);
  return subject.length === 0 ? '' : `subject: ${subject.join(', ')}`;
}

test('a call that is refused before it reaches its tool is told with the same subject as one that fails in it', async () => {
  for (const tool of tools.filter(({ auditsItself }) => auditsItself !== true)) {
    const inTool = await findOrder(
      namesIn(tool.input),
      async (fields) => (await noteFailedCall(tool, fields)).subject,
    );
    assert.equal(await describeRefused(tool), inTool.length === 0 ? '' : `subject: ${inTool.join(', ')}`);
    const { subject, link: named, failed = [] } = tool.auditFields;
    assert.deepEqual(inTool, [...(named ? [named.id, named.token] : []), ...subject, ...failed], tool.name);
  }
});

/** An argument that fits the schema of the tool, and the text that its line has to show for it. */
const named: Readonly<Record<string, readonly [given: unknown, shown: string]>> = {
  names: [['six', 'attrs'], 'six attrs'],
  name: ['a-name', 'a-name'],
  token: [token, link],
  link_id: [link, link],
  forget: ['docs/a.md', 'docs/a.md'],
  path: ['docs/a.md', 'docs/a.md'],
  file: ['tool.py', 'tool.py'],
  filename: ['a.txt', 'a.txt'],
  artifact_path: ['a.png', 'a.png'],
  execution_id: ['exec_0123456789ab', 'exec_0123456789ab'],
  session_id: ['a-session', 'a-session'],
  file_id: ['file_0123456789abcdef01234567', 'file_0123456789abcdef01234567'],
  crate_id: ['crate_0123456789abcdef01234567', 'crate_0123456789abcdef01234567'],
  documentFile: ['a.md', 'a.md'],
  outputBasename: ['paper', 'paper'],
};

/** Arguments of these names say what a call is about; those that do not, with what they are. */
const namesThings = /^(?:names?|token|forget|path|file|filename|artifact_path|documentFile)$|_id$/;
const saysMore = new Set([
  'send_piece.token', // the secret of an upload, whose line has the name of its file
  'read_skill.file', // of the skill that has to be named
  'list_searchable_fields.name', // a filter or type, with its values
  'manage_session.name', // what a checkpoint or a fork is to be called
  'pack_crate.name', // what the crate is called
  'save_script.source_execution_id', // where the code came from
]);

test('what a call names is its subject, as the schema has parsed it: nothing is changed or lost on the way', async () => {
  for (const tool of tools)
    for (const [argument, schema] of Object.entries(tool.input.shape)) {
      if (!namesThings.test(argument) || saysMore.has(`${tool.name}.${argument}`)) continue;
      const [given, wanted] = named[argument]!;
      const parsed = (schema as z.ZodType).safeParse(given);
      assert.ok(parsed.success, `${tool.name}: ${argument}`);
      const line = await noteFailedCall(tool, { [argument]: parsed.data });
      assert.equal(line.subject, wanted, `${tool.name}: ${argument}`);
    }
});

async function noteFailedCall(tool: Tool, given: Fields): Promise<AuditEvent> {
  const { audit, events } = recorder();
  const handle = (): Promise<never> => Promise.reject(new WorkcrateError('storage_failed', 'No.'));
  const audited = auditTool({ ...tool, auditsItself: false, handle }, audit);
  await assert.rejects(audited.handle(given, context));
  return events[0]!;
}

test('every group has its tools here', () => {
  const groups = new Set(tools.map(({ group }) => group));
  assert.deepEqual(
    [...groups].sort(),
    [...toolGroups, ...furtherGroups, 'operator'].filter((group) => group !== 'gateway').sort(),
  );
});
