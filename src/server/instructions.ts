/**
 * What a model is told about this server when its client connects. Each sentence is given only where the tools that it
 * names are there, so it belongs to no room: it says how their tools work together.
 */

interface Advice {
  /** The tools that the text names. */
  readonly tools: readonly string[];
  readonly text: string;
}

const opening =
  'Workcrate runs code in a sandbox and passes files by link, so that no file goes through the conversation. Pass links on to the user as they are.';

const advices: readonly Advice[] = [
  {
    tools: ['execute_code'],
    text: 'To run Python, Node or Bash, call execute_code. Files for people go to /artifacts.',
  },
  {
    tools: ['execute_code', 'manage_session'],
    text: 'To keep variables between calls, give execute_code a session_id of your own; manage_session goes back.',
  },
  {
    tools: ['execute_code', 'get_execution'],
    text: 'For a run that takes minutes, give background: true, then call get_execution with wait_ms.',
  },
  {
    tools: ['get_artifact'],
    text: 'For a link to a file in /artifacts, call get_artifact (show: true also shows you a picture).',
  },
  {
    tools: ['read_client_file'],
    text: "For a file of the user's project, call read_client_file; where you have a shell there, it gives you the command that sends the file.",
  },
  {
    tools: ['request_upload'],
    text: 'To bring in any other file, call request_upload and run the curl command that it gives.',
  },
  { tools: ['share_file'], text: 'For a link to a stored file, call share_file with its file_id.' },
  {
    tools: ['build_exports_content'],
    text: 'To write a report as PDF, DOCX or a web page, call build_exports_content with Markdown.',
  },
  {
    tools: ['search_index'],
    text: 'To find research data, workflows and earlier results, call search_index: it searches RO-Crates.',
  },
  {
    tools: ['pack_crate'],
    text: 'To keep a run so that others can find and repeat it, call pack_crate with its execution_id.',
  },
  {
    tools: ['list_skills', 'read_skill'],
    text: 'For how to do a kind of task well here, call list_skills, then read_skill.',
  },
  {
    tools: ['search_tools', 'call_tool'],
    text: 'For a task or a tool that is not in your list, call search_tools, then call_tool.',
  },
];

/** The instructions of a server with these tools. */
export function describeTools(names: ReadonlySet<string>): string {
  const there = advices.filter(({ tools }) => tools.every((tool) => names.has(tool)));
  return [opening, ...there.map(({ text }) => text)].join(' ');
}
