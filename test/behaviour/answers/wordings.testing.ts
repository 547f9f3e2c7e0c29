/**
 * How the text of each tool says a fact, where it does not have the value itself, and what it leaves out on purpose, with
 * the reason. A field that is new in an output schema has to be in the text, or here.
 */

export type Wording =
  /** The text leaves it out: why. */
  | { readonly unsaid: string }
  /** The text leaves it out of such an answer. */
  | { readonly unsaidIf: (structured: Record<string, unknown>) => boolean }
  /** What the text says for each value; null where silence says it. */
  | { readonly words: Readonly<Record<string, RegExp | null>> }
  /** Silence says it where it has this value. */
  | { readonly silent: number | null }
  /** The text has it in another form. */
  | { readonly form: (value: string) => string }
  /** Of a longer text, so many characters are enough, with the words that match between ** and **. */
  | { readonly start: number }
  /** Of a long list the first are enough, where the text says how many more there are. */
  | { readonly listed: 'in part' };

type Wordings = Readonly<Record<string, Wording>>;

/** A flag that is told only where it is set. */
const toldIfTrue = (words: RegExp): Wording => ({ words: { true: words, false: null } });

const toSecond = (time: string): string => `${time.slice(0, 19)}Z`;

/** By the last name of a path, for all tools. */
const common: Wordings = {
  sha256: { unsaid: 'for programs that check bytes; a model cannot' },
  mediaType: { unsaid: 'follows from the name of the file' },
  token: { unsaid: 'the last part of the URL, which the text has' },
  timed_out: { unsaid: 'the same as the end reason' },
};

const changeWordings: Wordings = {
  state: { words: { done: /^(?:Done|All of it|Nothing was)/m, running: /still being installed/ } },
  language: { words: { python: /Python|^All of it/m, node: /Node|^All of it/m } },
  changed: { words: { true: /^Done in/m, false: /Looked in/ } },
  bytes: { silent: 0 },
  'added[].name': { listed: 'in part' },
  'added[].version': { listed: 'in part' },
  'removed[].name': { listed: 'in part' },
  'removed[].version': { listed: 'in part' },
};

const runWordings: Wordings = {
  'network.more': { silent: 0 },
  'network.refused[].host': { listed: 'in part' },
  'client_files[].age_s': { silent: 0 },
  'client_files[].cached': { words: { true: /remembered;/, false: / ago$/m } },
  language: { unsaid: 'as the call asked for' },
  truncated: toldIfTrue(/truncated \d+ chars/),
  'artifacts.created[]': { listed: 'in part' },
  'artifacts.deleted[]': { listed: 'in part' },
  'temporary_files.more': { silent: 0 },
  'temporary_files.complete': { words: { true: null, false: /perhaps more/ } },
  'artifacts.complete': { words: { true: null, false: /may be more changes|told at its end/ } },
  'artifacts.removed.complete': {
    words: { true: /Removed, so that|Nothing that it made/, false: /(?:Not all|Nothing) that it made/ },
  },
  'artifacts.removed.files': { silent: 0 },
  'artifacts.removed.bytes': { silent: 0 },
  background: {
    words: { asked: /as asked/, detached: /detached/, adopted: /adopted/, task: /as a task/, null: null },
  },
  'results[].kind': { words: { value: /^Value/m, display: /^Displayed/m, figure: /^Figure/m } },
  'results[].cut': toldIfTrue(/, cut:/),
  'results[].parts[].mime': { unsaid: 'follows from the name of the file' },
  'results[].parts[].file_id': { unsaid: 'the link leads to it, and get_execution says it' },
  more_results: { silent: 0 },
  end_reason: {
    words: {
      exit: /exit code|^(?![^]*\[exec_)/,
      signal: /ended by SIG/,
      timeout: /timed out/,
      oom: /of memory/,
      pids: /processes/,
      disk: /\/workspace and \/artifacts/,
      lost: /lost/,
      cancelled: /cancelled/,
      running: /still running/,
      refused: /could not be started/,
    },
  },
};

/** Whoever follows the output of a run has its code, and gets its parts instead of the whole. */
const saidUnlessPart: Wording = { unsaidIf: ({ output }) => output !== null };
const unsaidOfParts = [
  'tool code working_dir started_at stdout stderr stdout_bytes stderr_bytes',
  'limits.timeout_ms limits.memory_bytes limits.processes limits.cpus limits.file_bytes limits.disk_bytes',
  'limits.tmp_bytes limits.sandbox limits.runtime input_notes[] peak_memory_bytes trace_id',
].flatMap((paths) => paths.split(' '));

/** What is said of a script, in a list or by itself. */
function scriptWordings(path: string): Wordings {
  return {
    [`${path}description`]: { form: (text) => text.replaceAll(/\s+/g, ' ') },
    [`${path}created_at`]: { form: toSecond },
    [`${path}last_run.at`]: { form: toSecond },
    [`${path}latest`]: { unsaid: 'the version itself, unless the text names another' },
    [`${path}runs`]: { silent: 0 },
  };
}

const linkStateWordings: Wordings = { singleUse: toldIfTrue(/single use|once|one download/i) };

/** A file has no mark. */
const entryType: Wording = { words: { file: /^/, folder: /\//, link: /\(link\)/, other: /\(other\)/ } };

/** How a file or a listing of the client came, or will come. */
const howItCame: Wording = {
  words: {
    direct: /read in place|Show that this server sees/,
    upload: /sent by your shell|Run this in/,
    url: /sent by a person on the page/,
    form: /typed into a form/,
    sampling: /typed by a model/,
    given: /given with guide_cache_file/,
  },
};

const tools: Readonly<Record<string, Wordings>> = {
  execute_code: runWordings,
  execute_bash: runWordings,
  get_execution: {
    ...runWordings,
    'results[].parts[].mime': { silent: null },
    'results[].parts[].file_id': { silent: null },
    stdin_bytes: { silent: 0 },
    succeeded: { unsaid: 'follows from the end and the exit code' },
    inputs_may_be_incomplete: { ...toldIfTrue(/may have read more files/), ...saidUnlessPart },
    'known_inputs[].how': { words: { opened: /^Opened: /m, found: /^Found: /m }, ...saidUnlessPart },
    'known_inputs[].path': { listed: 'in part', ...saidUnlessPart },
    'known_inputs[].size': { listed: 'in part', ...saidUnlessPart },
    'known_inputs[].made_by': { listed: 'in part', ...saidUnlessPart },
    'result_files.files[].path': {
      unsaid: 'what it created and modified is named; the rest is for programs',
    },
    'result_files.files[].size': { unsaid: 'for programs' },
    'result_files.files[].sha256': { unsaid: 'for programs' },
    'result_files.files[].note': { form: (note) => note.slice(note.indexOf(': ') + 2), ...saidUnlessPart },
    'result_files.more': { unsaid: 'for programs' },
    ...Object.fromEntries(unsaidOfParts.map((path) => [path, saidUnlessPart])),
    running_elsewhere: toldIfTrue(/runs on another server/),
    cancelled_by: {
      words: {
        client: /by its client/,
        cancel_execution: /by cancel_execution/,
        lost_connection: /lost the connection/,
        removed_user: /its user was removed/,
        operator: /by an operator/,
        stopped_server: /the server stopped/,
        null: null,
      },
    },
  },
  cancel_execution: {
    end_reason: runWordings['end_reason']!,
    cancelled: { words: { true: /It has ended/, false: /nothing was cancelled|by itself|not done so yet/ } },
  },
  search_executions: {
    'executions[].succeeded': { unsaid: 'follows from the end and the exit code' },
    'executions[].code': { start: 80 },
  },
  install_packages: changeWordings,
  remove_packages: changeWordings,
  list_packages: {
    'languages[].language': { words: { python: /^Python/m, node: /^Node/m } },
    'languages[].stale': toldIfTrue(/made for another interpreter/),
    'languages[].damaged': { words: { true: /What was installed last was damaged/, false: /^/ } },
    'languages[].bytes': { silent: 0 },
    'languages[].made_at': { form: toSecond },
    'languages[].installed[].name': { listed: 'in part' },
    'languages[].installed[].version': { listed: 'in part' },
  },
  send_to_session: runWordings,
  run_script: runWordings,
  save_script: scriptWordings(''),
  get_script: {
    ...scriptWordings(''),
    code_from: { silent: 0 },
    runs_of_version: { silent: 0 },
  },
  list_scripts: scriptWordings('scripts[].'),
  // None is left.
  delete_script: { left: { silent: 0 } },
  search_scripts: scriptWordings('scripts[].'),
  start_session: {
    language: { words: { python: /python in/, node: /node in/, bash: /bash in/ } },
    created_at: { form: toSecond },
  },
  list_sessions: {
    'sessions[].elsewhere': toldIfTrue(/on another server/),
    'sessions[].created_at': { form: toSecond },
    'sessions[].last_used': { form: toSecond },
    'sessions[].end.at': { form: toSecond },
  },
  manage_session: {
    action: { unsaid: 'as the call asked for' },
    left_out: { silent: 0 },
    'files.left_out': { silent: 0 },
    'different[].fields[]': { listed: 'in part' },
  },
  get_artifact: { encoding: { words: { base64: /base64/ } }, artifact_id: { start: 1000 } },
  link_status: {
    ...linkStateWordings,
    'links[].singleUse': { words: { true: /for one download/, false: /to last until/ } },
  },
  revoke_link: { revoked: { words: { true: /revoked|ended/i } } },
  // Where a page has all, it lists as many.
  list_artifacts: { total: { unsaidIf: ({ total, count }) => total === count } },
  list_files: {
    'files[].createdAt': { unsaid: 'the order says it' },
    // The day once for many files, and the time with each.
    'files[].expiresAt': { form: (time) => time.slice(11, 16) },
  },
  delete_file: { deleted: { words: { true: /deleted/i } } },
  search_index: {
    query: { unsaid: 'as the call asked for' },
    mode: { unsaid: 'as the call asked for; a note tells where it was another' },
    'results[].score': { unsaid: 'the order says it' },
    'results[].description': { start: 200 },
    'results[].snippet': { start: 200 },
    'facets.{}': { unsaid: 'for programs; list_searchable_fields says what can be filtered by' },
    'facets.*[].value': { unsaid: 'for programs; list_searchable_fields says what can be filtered by' },
    'facets.*[].count': { unsaid: 'for programs; list_searchable_fields says what can be filtered by' },
  },
  get_crate: { year: { unsaid: 'the start of the date' } },
  list_crate_files: {
    crate_id: { unsaid: 'as the call asked for' },
    resource_locator: { unsaid: 'get_crate says it' },
    unsafe_names: { silent: 0 },
    'files[].path': { listed: 'in part' },
    'files[].size': { listed: 'in part' },
    'files[].compressed_size': { unsaid: 'the whole list has it' },
    'whole_list.filename': { start: 8 },
    'files[].last_modified': { unsaid: 'the whole list has it' },
  },
  read_crate_file: { crate_id: { unsaid: 'as the call asked for' } },
  download_crate: {
    crate_id: { unsaid: 'as the call asked for' },
    resource_locator: { unsaid: 'get_crate says it' },
  },
  validate_crate: {
    valid: { words: { true: /: Valid as/, false: /: Not valid as/ } },
    attached: { words: { true: /with its files/, false: /metadata alone/ } },
    'findings[].count': { unsaid: 'the lines below the rule' },
    'findings[].total': { unsaid: 'told where it is more than the lines below the rule' },
  },
  index_status: {
    syncing: toldIfTrue(/syncing now/),
    'semantic.stale': toldIfTrue(/being updated/),
  },
  sync_index: {
    joined: toldIfTrue(/joined an update/),
    'sources[].state': { unsaid: 'a source that cannot be reached has its reason instead of counts' },
  },
  validate_citations: {
    valid: { words: { true: /every key has an entry/, false: /none|without an entry/i } },
  },
  // Where it is too long, a link leads to it.
  bibliography_for: { content: { unsaidIf: ({ content }) => String(content).length > 16_000 } },
  build_exports_content: {
    'failures[].code': { unsaid: 'for programs; the message says it' },
    instructions: { unsaid: 'what the text of each link says' },
  },
  read_client_file: {
    status: { words: { read: null, offered: /call again/ } },
    rung: howItCame,
    cached: toldIfTrue(/remembered;|unchanged since/),
    age_s: { silent: 0 },
    fell_back: toldIfTrue(/since it is not in/),
  },
  list_client_directory: {
    status: { words: { listed: null, offered: /call again/ } },
    rung: howItCame,
    cut: toldIfTrue(/cut off/),
    hidden: { silent: 0 },
    'entries[].type': entryType,
    'entries[].children[].type': entryType,
    'entries[].path': { unsaid: 'the names from the folder on, by their depth' },
    'entries[].children[].path': { unsaid: 'the names from the folder on, by their depth' },
  },
  guide_cache_file: {
    forgot: { words: { true: /Forgotten/, false: /was not cached/, null: null } },
  },
  list_skills: {
    'skills[].replaces_shipped': {
      words: { true: /instead of the one that comes with Workcrate/, false: /^/ },
    },
  },
  read_skill: {
    replaces_shipped: toldIfTrue(/instead of the one that comes with Workcrate/),
    cut: toldIfTrue(/only its start/),
    'files[].path': { listed: 'in part' },
  },
  read_docstring: { more: { silent: 0 } },
  search_tools: {
    'tools[].effect': {
      words: { reads: /only reads/, changes: /changes something/, may_destroy: /may delete or overwrite/ },
    },
  },
  call_tool: {
    tool: { unsaid: 'as the call asked for' },
    server: { unsaid: 'search_tools says it' },
  },
  search_audit: {
    'lines[].seq': { unsaid: 'for programs that check the chain' },
    'lines[].intact': { words: { true: null, false: /changed after it was written/ } },
  },
};

/** What a tool is known to say in its own way, or not at all; null where the text has to have the value. */
export function findWording(tool: string, path: string): Wording | null {
  if (tool === 'call_tool' && path.startsWith('result'))
    return { unsaid: 'what the called tool says of it, which its own outcomes show' };
  const own = tools[tool]?.[path];
  if (own !== undefined) return own;
  if (path === 'count') return { unsaid: 'as many as the text lists' };
  return common[path.slice(path.lastIndexOf('.') + 1)] ?? null;
}

const resultsOutOfReach = {
  'results[].kind = figure':
    'there need not be a matplotlib; test/behaviour/backends/results.test.ts has figures',
  'results[].parts[].problem': 'a quota that is full; result-answer.test.ts has one',
};

const runsOutOfReach = {
  'artifacts.removed.complete = false': 'a run beside it would have to go on for half a minute',
  ...resultsOutOfReach,
  'client_files[].age_s': 'what came just now has the age 0; the tests of client files show others',
  'background = detached': 'the calls of this server are not answered before their time',
  'background = adopted': 'nobody hears the answer to a call that lost its connection',
  'background = task': 'MCP tasks',
  'end_reason = cancelled': 'nobody hears the answer to a call that was cancelled',
  'end_reason = refused': 'a run that was not started is an error',
  'session.state = null': 'an answer comes at the end of a cell',
};

const changesOutOfReach = {
  'state = running': 'the calls of this server wait for their installs',
  'language = node': 'by the same function; `test/behaviour/packages` installs for Node',
};

/** What no outcome shows on a machine of the tests: by tool, the start of `path = value`, and why. */
export const cannotBeShown: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  install_packages: changesOutOfReach,
  remove_packages: {
    ...changesOutOfReach,
    'changed = false': 'what is not there is not removed, which is an error',
    'added[]': 'what is left keeps its versions',
    'from_system[]': 'nothing of the system is removed',
  },
  list_packages: {
    'languages[].stale = true': 'the interpreter of this server stays the same',
    'under_way[]': 'the calls of this server wait for their installs',
  },
  execute_code: runsOutOfReach,
  execute_bash: runsOutOfReach,
  send_to_session: runsOutOfReach,
  run_script: runsOutOfReach,
  save_script: {
    'last_run.': 'the first run comes after the first save; list_scripts shows it',
    runs: 'the same',
  },
  search_scripts: {
    'scripts[].last_run.': 'by the same function as list_scripts',
    'scripts[].runs': 'the same',
    'scripts[].source_execution_id': 'the same',
    'scripts[].packages[]': 'the same',
    'scripts[].language = node': 'the same',
    'scripts[].language = bash': 'the same',
  },
  index_status: {
    'semantic.stale = true': 'an endpoint that failed for some crates; `semantic/endpoint.test.ts` has one',
  },
  list_sessions: {
    'sessions[].elsewhere = true': 'another server on the same database',
    'sessions[].end.reason = ': 'the words are made in one place, and `sessions.test.ts` shows them',
  },
  get_execution: {
    'artifacts.removed.complete = false': 'a run beside it would have to go on for half a minute',
    'background = detached': 'the calls of this server are not answered before their time',
    'background = adopted': 'no connection of this server is lost',
    'background = task': 'MCP tasks',
    'cancelled_by = lost_connection': 'no connection of this server is lost',
    'cancelled_by = operator': 'nobody is an operator of this server',
    'cancelled_by = removed_user': 'nobody is removed from this server',
    'cancelled_by = stopped_server': 'this server does not stop',
    'running_elsewhere = true': 'there is one server',
    'tool_calls.calls[].outcome = cancelled': 'a run that is cancelled in the middle of a call',
    ...resultsOutOfReach,
  },
  cancel_execution: { 'end_reason = ': 'one run that was over stands for all' },
  revoke_link: { 'revoked = false': 'an error says that' },
  delete_file: { 'deleted = false': 'an error says that' },
  build_exports_content: { 'failures[].format = ': 'one format that fails stands for all' },
  read_client_file: { age_s: 'what came just now has the age 0; freshness.test.ts shows others' },
  list_skills: { 'broken[].origin = shipped': 'those that come with Workcrate are whole' },
  search_tools: { 'tools[].effect = unknown': 'all of our own tools say what they do' },
  bibliography_for: { 'notes[]': 'a library of more than 100,000 references' },
};
