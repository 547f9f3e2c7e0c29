/**
 * The prompts: texts that a person picks to start with, each with the tools to call, in order. It calls nothing itself;
 * which of them are offered, and to whom, is decided in `surfaces/mcp/resources.ts`. The one about skills is in `features/skills/`.
 */
import { completeArtifactName } from '../../core/artifacts/resources.ts';
import type { Artifacts } from '../../core/artifacts/artifacts.ts';
import type { Executions } from '../../core/runs/executions.ts';
import { completeExecutionId } from '../../core/runs/resources.ts';
import type { Files } from '../../core/files/files.ts';
import { completeFileName } from '../../core/files/resources.ts';
import { quoteValue, writeSteps, type DeclaredPrompt, type Step } from '../../core/offer/prompt.ts';
import type { ToolContext, ToolGroup } from '../../core/offer/tool.ts';
import { programName } from '../../platform/program.ts';

/** What completes the arguments of these prompts. */
export interface PromptsRoom {
  readonly artifacts: Artifacts;
  readonly files: Files;
  readonly executions: Executions;
  /** Whether the tools of a group are offered here. */
  readonly offersGroup: (group: ToolGroup) => boolean;
}

/** Nothing is offered of groups that are switched off, or that the caller's key may not use. */
const isOn = ({ offersGroup }: PromptsRoom, group: ToolGroup, { mayUse }: ToolContext): boolean =>
  mayUse(group) && offersGroup(group);

/** Names of files and artifacts that begin like this. */
async function completeName(room: PromptsRoom, begun: string, context: ToolContext): Promise<string[]> {
  const { artifacts, files } = room;
  return [
    ...(isOn(room, 'artifacts', context) ? await completeArtifactName(artifacts, context.caller, begun) : []),
    ...(isOn(room, 'files', context) ? await completeFileName(files, context.caller, begun) : []),
  ];
}

const completeExecution = async (
  room: PromptsRoom,
  begun: string,
  context: ToolContext,
): Promise<readonly string[]> =>
  isOn(room, 'code', context) ? completeExecutionId(room.executions, context.caller, begun) : [];

const withLinks: Step = {
  names: ['get_artifact'],
  text: 'Call get_artifact for each file worth keeping and pass its download command or URL on. Do not paste files into the conversation.',
};

const analyseFilePrompt: DeclaredPrompt<PromptsRoom> = {
  name: 'analyse_file',
  title: 'Analyse a file',
  description: 'Looks into a file with code: what it holds, what stands out, with plots',
  arguments: [
    {
      name: 'file',
      description: 'A stored file or an artifact by its name or file_id, or a path in the project',
      required: true,
      complete: completeName,
    },
    { name: 'question', description: 'What you want to know; a survey if left out', required: false },
  ],
  needs: ['execute_code'],
  write: ({ file = '', question }, has) =>
    writeSteps(
      `Analyse the file ${quoteValue(file)}.${question === undefined ? '' : ` The question is: ${quoteValue(question)}`}`,
      [
        {
          names: ['list_files'],
          text: 'Find it. For a stored file, list_files gives its file_id: pass that in `files` of execute_code.',
        },
        {
          names: ['list_artifacts'],
          text: 'If it is an artifact (list_artifacts), code reads it at /artifacts/NAME.',
        },
        {
          names: ['read_client_file'],
          text: 'If it lies in the project of the user, name its path in `client_files` of execute_code.',
        },
        {
          text: 'With execute_code, first look: size, format, encoding, the first lines, columns with their types, missing values. Read large files in pieces.',
        },
        {
          text: 'Then answer the question, or summarize what stands out. Save plots and tables to /artifacts.',
        },
        {
          names: ['get_artifact'],
          text: 'Look at each plot yourself with get_artifact and show: true before you rely on it.',
        },
        withLinks,
        { text: 'Say what you found in plain words, with numbers, and what you could not find out.' },
      ],
      has,
    ),
};

/** Those that people ask for; build_exports_content takes more. */
const reportFormats = ['pdf', 'docx', 'html', 'odt', 'pptx', 'epub', 'pdf,docx'];

const writeReportPrompt: DeclaredPrompt<PromptsRoom> = {
  name: 'write_report',
  title: 'Write a report',
  description: 'Writes a report with figures and citations, and builds it as PDF, DOCX or a web page',
  arguments: [
    { name: 'topic', description: 'What the report is about', required: true },
    {
      name: 'source',
      description: 'A file with data or notes to start from',
      required: false,
      complete: completeName,
    },
    {
      name: 'formats',
      description: 'Such as pdf,docx; pdf if left out',
      required: false,
      complete: async (_room, begun) =>
        reportFormats.filter((format) => format.startsWith(begun.toLowerCase())),
    },
  ],
  needs: ['build_exports_content'],
  write: ({ topic = '', source, formats = 'pdf' }, has) =>
    writeSteps(
      `Write a report on ${quoteValue(topic)}${source === undefined ? '' : `, starting from ${quoteValue(source)}`}.`,
      [
        {
          names: ['search_executions', 'get_execution'],
          text: 'See what was done already: search_executions, then get_execution for the runs that matter.',
        },
        {
          names: ['execute_code'],
          text: 'Compute what is missing with execute_code, and save figures to /artifacts as SVG or PNG.',
        },
        {
          text: 'Write it in Markdown: a title, a summary of a few sentences, method, results with figures (![caption](name of the artifact)), limits. Every number comes from a run or a source.',
        },
        {
          names: ['validate_citations'],
          text: 'If it cites, write [@key] and give a bibliography, then check it with validate_citations.',
        },
        { text: `Call build_exports_content with formats ${quoteValue(formats)}, as a list.` },
        { text: 'Read its warnings, mend the Markdown and build again if something is missing.' },
        { text: 'Pass the links on, one a format, with two sentences on what the report says.' },
      ],
      has,
    ),
};

const reproducePrompt: DeclaredPrompt<PromptsRoom> = {
  name: 'make_reproducible',
  title: 'Make a run reproducible',
  description:
    'Runs it again from its record, compares, and packs code, inputs and results into a research crate',
  arguments: [
    {
      name: 'execution_id',
      description: 'The run, such as exec_ and 12 hex digits',
      required: true,
      complete: completeExecution,
    },
    { name: 'title', description: 'The title of the crate', required: false },
  ],
  needs: ['get_execution', 'execute_code', 'pack_crate'],
  write: ({ execution_id: id = '', title }, has) =>
    writeSteps(
      `Make the run ${quoteValue(id)} reproducible.`,
      [
        { text: 'Call get_execution and read its code, inputs, output and changed files.' },
        {
          text: 'Look for what another run could not repeat: files of /workspace that are no inputs, the time, random numbers without a seed, the network. Mend the code: name every input, set seeds, write all results to /artifacts.',
        },
        {
          text: 'Run the mended code with execute_code twice and compare the outputs. Say where they differ.',
        },
        {
          text: `Call pack_crate with the execution_id of the last run${title === undefined ? ', a title' : `, the title ${quoteValue(title)}`}, a description and the authors that the user gives you. Do not invent authors or a licence: ask.`,
        },
        { names: ['get_crate'], text: 'Check the result with get_crate: it should have no issues.' },
        { text: `Pass the link of the crate on, and say how to run it again: ${programName} replay.` },
      ],
      has,
    ),
};

const findDataPrompt: DeclaredPrompt<PromptsRoom> = {
  name: 'find_data',
  title: 'Find data',
  description: 'Searches the research crates for data that fits a question, and looks into the best ones',
  arguments: [{ name: 'question', description: 'What the data should be about', required: true }],
  needs: ['search_index', 'get_crate'],
  write: ({ question = '' }, has) =>
    writeSteps(
      `Find data for this question: ${quoteValue(question)}`,
      [
        {
          text: 'Call search_index with the words of the question, then with synonyms and with fewer words.',
        },
        {
          names: ['list_searchable_fields'],
          text: 'To narrow it down by licence, year or type, call list_searchable_fields first.',
        },
        { text: 'Call get_crate for the best three: who made it, when, under which licence, what is in it.' },
        {
          names: ['list_crate_files', 'read_crate_file'],
          text: 'Look into them with list_crate_files, and read a README or the start of a table with read_crate_file.',
        },
        {
          names: ['execute_code'],
          text: 'To compute with a file, name it in `crate_files` of execute_code: it need not be downloaded.',
        },
        {
          text: 'Say which crate fits best and why, with its crate_id, licence and how to cite it. If none fits, say so.',
        },
      ],
      has,
    ),
};

export const declaredPrompts: readonly DeclaredPrompt<PromptsRoom>[] = [
  analyseFilePrompt,
  writeReportPrompt,
  reproducePrompt,
  findDataPrompt,
];
