/**
 * The commands of the core as data: their help, and which file has their body. `help.ts` prints it and `commands.ts` checks
 * words by it. Commands of features are in their `feature.ts`.
 */
import {
  asUserFlag,
  jsonFlag,
  makeKeyFlag,
  serverFlag,
  storedSettings,
  type Command,
  type CommandHelp,
  type FlagHelp,
} from '../core/command.ts';
import type { ServerConfig } from '../server/settings.ts';

/** Which lines of the audit log to show. */
const auditLines: readonly FlagHelp[] = [
  { flag: '--user NAME', help: 'only lines of this user' },
  { flag: '--operation NAME', help: 'only this operation, such as read_client_file' },
  { flag: '--result CODE', help: 'only this result: ok, failed (anything but ok), or an error code' },
  {
    flag: '--level LEVEL',
    help: 'trace, info or warning: lines of this level and above; violations are warnings',
  },
  { flag: '--since TIME', help: 'from then on: a day (2026-05-04, UTC) or a time (2026-05-04T12:00Z)' },
  { flag: '--until TIME', help: 'before then' },
  { flag: '--before POSITION', help: 'the next page; the end of a page prints its POSITION' },
];

const auditHelp = {
  verify: {
    summary:
      'Check that no line of the audit log was changed, removed, added or moved. The exit code is 1 if one was, or if there is no log.',
    flags: [jsonFlag],
    settings: [...storedSettings, 'auditKey'],
    examples: ['audit verify', 'audit verify --data /srv/workcrate --json'],
    docs: 'docs/reference/audit.md',
  },
  search: {
    takes: '[TEXT…]',
    summary: 'Find lines of the audit log that contain the text, in upper or lower case, newest first.',
    flags: [
      ...auditLines,
      { flag: '--limit COUNT', help: 'at most this many lines, up to 10000', usual: '50' },
      jsonFlag,
    ],
    settings: [...storedSettings, 'auditKey'],
    examples: [
      'audit search passwd --limit 10',
      'audit search --user ada --level warning --since 2026-05-04',
    ],
    docs: 'docs/reference/audit.md',
  },
  tail: {
    summary: 'Show the last lines of the audit log, oldest first.',
    flags: [
      ...auditLines,
      { flag: '--limit COUNT', help: 'at most this many lines, up to 10000', usual: '20' },
      jsonFlag,
    ],
    settings: [...storedSettings, 'auditKey'],
    examples: ['audit tail', 'audit tail --result failed --limit 100'],
    docs: 'docs/reference/audit.md',
  },
  forget: {
    summary:
      'Make the database forget the audit log, after you moved the log away on purpose, for example for a new key. Stop the server first.',
    settings: [...storedSettings, 'auditKey'],
    examples: ['audit forget', 'audit forget --data /srv/workcrate'],
    docs: 'docs/reference/audit.md',
  },
} satisfies Record<string, CommandHelp>;

const makePageFlags = (usual: string, most: string): FlagHelp[] => [
  { flag: '--limit COUNT', help: `at most this many, up to ${most}`, usual },
  { flag: '--offset COUNT', help: 'skip this many, for the next page', usual: '0' },
];

const cratesHelp = {
  index: {
    summary: 'Read new and changed crates from all sources into the index.',
    flags: [jsonFlag],
    settings: [...storedSettings, 'crateSources'],
    examples: ['crates index', 'crates index --crate-sources file:///srv/crates'],
    docs: 'docs/guide/crates.md',
  },
  search: {
    takes: '[QUERY…]',
    summary: 'Find research crates by words, fields and meaning.',
    flags: [
      { flag: '--mode MODE', help: 'keyword, semantic or hybrid', usual: 'hybrid' },
      {
        flag: '--filter FIELD=VALUE',
        help: 'only crates with this value; can be given several times',
        isList: true,
      },
      ...makePageFlags('10', '100'),
      asUserFlag,
      jsonFlag,
    ],
    settings: storedSettings,
    examples: [
      "crates search 'glacier author:byron'",
      'crates search temperature --filter year=2021 --mode keyword',
    ],
    docs: 'docs/guide/crates.md',
  },
  show: {
    takes: 'CRATE_ID',
    summary: 'Show what is known about a crate.',
    flags: [asUserFlag, jsonFlag],
    settings: storedSettings,
    examples: [
      'crates show crate_d1b02935602ae245269cf425',
      'crates show crate_d1b02935602ae245269cf425 --json',
    ],
    docs: 'docs/guide/crates.md',
  },
  files: {
    takes: 'CRATE_ID',
    summary: 'List the files in a crate.',
    flags: [
      { flag: '--glob PATTERN', help: "only paths that match, such as '*.csv'" },
      ...makePageFlags('1000', '1000000000'),
      asUserFlag,
      jsonFlag,
    ],
    settings: storedSettings,
    examples: [
      'crates files crate_d1b02935602ae245269cf425',
      "crates files crate_d1b02935602ae245269cf425 --glob '*.csv'",
    ],
    docs: 'docs/guide/crates.md',
  },
  read: {
    takes: 'CRATE_ID PATH',
    summary: 'Write one file of a crate to standard output, byte for byte.',
    flags: [asUserFlag],
    settings: storedSettings,
    examples: [
      'crates read crate_d1b02935602ae245269cf425 data/a.csv',
      'crates read crate_d1b02935602ae245269cf425 plot.png > plot.png',
    ],
    docs: 'docs/guide/crates.md',
  },
  pack: {
    takes: 'EXECUTION_ID [EXECUTION_ID…]',
    summary:
      'Pack executions with their code, inputs and results as a crate, as steps in the order of their start.',
    flags: [
      { flag: '--title TEXT', help: 'the title of the crate' },
      { flag: '--description TEXT', help: 'what it is about' },
      { flag: '--license ID', help: 'its licence, such as CC-BY-4.0' },
      { flag: '--author NAME', help: 'an author; can be given several times', isList: true },
      { flag: '--keyword WORD', help: 'a keyword; can be given several times', isList: true },
      { flag: '--shared', help: 'let all users find it' },
      { flag: '--specification VERSION', help: 'of RO-Crate: 1.1, 1.2 or 1.3', usual: '1.1' },
      asUserFlag,
      jsonFlag,
    ],
    settings: [...storedSettings, 'packTo'],
    examples: [
      "crates pack exec_0123456789ab exec_0123456789ac --title 'Melt rates'",
      "crates pack exec_0123456789ab --author 'Ada Byron' --license CC-BY-4.0 --shared",
    ],
    docs: 'docs/guide/crates.md',
  },
  status: {
    summary: 'Show the sources, when each was last read, and the crates that cannot be read.',
    flags: [
      { flag: '--limit COUNT', help: 'at most this many broken crates, up to 1000', usual: '100' },
      asUserFlag,
      jsonFlag,
    ],
    settings: storedSettings,
    examples: ['crates status', 'crates status --json'],
    docs: 'docs/guide/crates.md',
  },
} satisfies Record<string, CommandHelp>;

/** What a key may do and for how long. */
const keyTerms = (scopes: string, expires: string): FlagHelp[] => [
  {
    flag: '--scopes LIST',
    help: 'what the key may do: code, artifacts, files, crates, documents, client, skills, scripts, metrics, operator',
    usual: scopes,
  },
  { flag: '--expires WHEN', help: 'when it expires, such as 90d, 12h or 2027-01-31', usual: expires },
];

const userHelp = {
  add: {
    takes: 'NAME',
    summary: 'Add a user and print the key, once.',
    flags: keyTerms('all but metrics and operator', 'never'),
    settings: storedSettings,
    examples: ['user add ada', 'user add monitor --scopes metrics --expires 90d'],
    docs: 'docs/guide/users.md',
  },
  list: {
    summary: 'List users and their keys, without the secrets.',
    flags: [jsonFlag],
    settings: storedSettings,
    examples: ['user list', 'user list --json'],
    docs: 'docs/guide/users.md',
  },
  rotate: {
    takes: 'NAME',
    summary: 'Give a user a new key. The old keys stop working.',
    flags: keyTerms('those of the last key', 'as long as the last key'),
    settings: storedSettings,
    examples: ['user rotate ada', 'user rotate ada --expires 90d'],
    docs: 'docs/guide/users.md',
  },
  remove: {
    takes: 'NAME',
    summary: 'Remove a user. Keys, links and uploads stop working at once; files stay until they expire.',
    settings: storedSettings,
    examples: ['user remove ada', 'user remove ada --data /srv/workcrate'],
    docs: 'docs/guide/users.md',
  },
} satisfies Record<string, CommandHelp>;

/** In the order in which help lists them. Each is loaded when it is asked for: loading the server takes most of a start. */
export const coreCommands = {
  serve: {
    load: async () => (await import('./serve.ts')).runServe,
    summary: 'Serve MCP and links over HTTP until stopped.',
    settings: 'all',
    examples: ['serve', 'serve --port 9181 --auth keys --file-ttl 86400'],
    docs: 'docs/reference/settings.md',
  },
  stdio: {
    load: async () => (await import('./stdio.ts')).runStdio,
    summary: 'Serve MCP to the client that started it, with links over HTTP on this machine.',
    settings: 'all',
    examples: ['stdio', 'stdio --share-roots ./results,./reports'],
    docs: 'docs/guide/connect.md',
  },
  check: {
    load: async () => (await import('./check.ts')).runCheck,
    summary: 'Check the database and the stored files. The exit code is 1 if something is wrong.',
    flags: [
      { flag: '--read-data', help: 'also compare every stored byte with its hash' },
      {
        flag: '--adopt-storage',
        help: 'continue with an empty folder or bucket, after the old files were lost for good; or with a restored database in place of the one that it is a copy of',
      },
      { flag: '--remove-orphans', help: 'delete stored bytes that belong to no file, quarantine too' },
    ],
    settings: [...storedSettings, 'filesDir', 'storage'],
    examples: ['check', 'check --read-data --data /srv/workcrate'],
    docs: 'docs/guide/backup.md',
  },
  doctor: {
    load: async () => (await import('./doctor.ts')).runDoctor,
    summary: 'Show what works on this machine, and what to install for the rest.',
    settings: [...storedSettings, 'host', 'port', 'sandbox', 'storage'],
    examples: ['doctor', 'doctor --sandbox docker'],
    docs: 'docs/reference/limits.md',
  },
  user: {
    load: async () => (await import('./user.ts')).runUser,
    takes: 'SUBCOMMAND',
    summary: 'Say who may use the server, with --auth keys. Works while the server runs.',
    settings: storedSettings,
    examples: ['user add ada', 'user list'],
    docs: 'docs/guide/users.md',
    subcommands: userHelp,
  },
  usage: {
    load: async () => (await import('./usage.ts')).runUsage,
    summary:
      'Show what each user stores and runs: files, links, runs, folder sizes. Works while the server runs.',
    flags: [jsonFlag],
    settings: storedSettings,
    examples: ['usage', 'usage --data /srv/workcrate --json'],
    docs: 'docs/guide/observe.md',
  },
  status: {
    load: async () => (await import('./status.ts')).runStatus,
    summary: 'Ask a running server how it is. The exit code is 1 if it is not ready.',
    flags: [serverFlag, makeKeyFlag('key with the scope metrics or operator'), jsonFlag],
    settings: ['data', 'host', 'port'],
    examples: ['status', 'status --url https://crate.example.org --json'],
    docs: 'docs/guide/observe.md',
  },
  call: {
    load: async () => (await import('./call.ts')).runCall,
    takes: '[TOOL] [KEY=VALUE…]',
    summary:
      'Call a tool of a running server and print the text of its answer; without TOOL, list the tools. KEY=@FILE takes the value from a file, KEY=- from standard input; lists and objects are JSON. The exit code is 1 if the tool failed.',
    flags: [
      serverFlag,
      makeKeyFlag('your key'),
      { flag: '--json', help: 'print the structured content as JSON, for programs' },
      { flag: '-o, --output FOLDER', help: 'where to save pictures of the answer' },
    ],
    settings: ['data', 'host', 'port'],
    examples: [
      "call execute_code language=python code='print(6 * 7)'",
      'call execute_code language=python code=@plot.py',
    ],
    docs: 'docs/guide/first-try.md',
  },
  audit: {
    load: async () => (await import('./audit.ts')).runAudit,
    takes: 'SUBCOMMAND',
    summary:
      'Show who did what, from the audit log. All but forget only read, and work while the server runs.',
    settings: [...storedSettings, 'auditKey'],
    examples: ['audit tail', 'audit verify'],
    docs: 'docs/reference/audit.md',
    subcommands: auditHelp,
  },
  build: {
    load: async () => (await import('./build.ts')).runBuild,
    takes: 'FILE',
    summary: 'Build a document from a Markdown file.',
    flags: [
      { flag: '--to FORMATS', help: 'formats, separated by commas, such as pdf,docx', usual: 'pdf' },
      { flag: '--bibliography FILE', help: 'what it cites: BibTeX, BibLaTeX, RIS or CSL JSON' },
      { flag: '--style NAME', help: 'citation style by name, such as apa or ieee' },
      { flag: '--csl FILE', help: 'citation style from a file' },
      { flag: '--reference-doc FILE', help: 'a .docx whose styles the Word document gets' },
      { flag: '-o, --output FOLDER', help: 'where to write', usual: 'this folder' },
    ],
    settings: ['documentTimeout', 'documentFonts', 'cslFolder'],
    examples: ['build paper.md', 'build paper.md --to pdf,docx --bibliography refs.bib --style ieee -o out'],
    docs: 'docs/guide/documents.md',
  },
  index: {
    load: async () => (await import('./crates.ts')).runIndex,
    summary: 'Read new and changed crates from all sources into the index. The same as crates index.',
    flags: [jsonFlag],
    settings: [...storedSettings, 'crateSources'],
    examples: ['index', 'index --crate-sources file:///srv/crates'],
    docs: 'docs/guide/crates.md',
  },
  crates: {
    load: async () => (await import('./crates.ts')).runCrates,
    takes: 'SUBCOMMAND',
    summary: 'Find, read and pack research crates. Works while the server runs.',
    settings: storedSettings,
    examples: ["crates search 'glacier author:byron'", 'crates status'],
    docs: 'docs/guide/crates.md',
    subcommands: cratesHelp,
  },
  replay: {
    load: async () => (await import('./replay.ts')).runReplay,
    takes: 'CRATE',
    summary:
      'Run a packed crate (a .zip file or a CRATE_ID) again and compare the results. The exit code is 1 if they differ.',
    flags: [
      {
        flag: '--tools recorded|live',
        help: 'where code that called tools gets their answers: from the crate, or from a running server (only tools that read)',
        usual: 'recorded',
      },
      serverFlag,
      makeKeyFlag('your key'),
      asUserFlag,
      jsonFlag,
    ],
    settings: [...storedSettings, 'sandbox', 'runMaxTimeout'],
    examples: ['replay crate_6de0c805e19e1cc7580adb1a', 'replay ./melt-rates.zip --json'],
    docs: 'docs/guide/crates.md',
  },
  validate: {
    load: async () => (await import('./validate.ts')).runValidate,
    takes: 'CRATE',
    summary:
      'Check a crate (a .zip file, a folder or a CRATE_ID) by the rules of RO-Crate and of its profiles. The exit code is 1 if it breaks one.',
    flags: [
      {
        flag: '--profile NAME',
        help: 'ro-crate-1.1, ro-crate-1.2, ro-crate-1.3, process-run-crate, workflow-ro-crate, workflow-run-crate or provenance-run-crate',
        usual: 'what the crate states',
      },
      asUserFlag,
      jsonFlag,
    ],
    settings: [...storedSettings, 'maxMetadata'],
    examples: ['validate ./melt-rates.zip', 'validate ./melt-rates --profile ro-crate-1.2 --json'],
    docs: 'docs/reference/validate.md',
  },
} satisfies Record<string, Command<ServerConfig>>;

export type SubcommandOf<Name extends 'audit' | 'crates' | 'user'> =
  keyof (typeof coreCommands)[Name]['subcommands'];
