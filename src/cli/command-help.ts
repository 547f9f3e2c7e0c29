/**
 * The help of every command, as data: what it takes, its flags, the settings that matter to it, examples. `help.ts`
 * prints it and `commands.ts` checks words by it. Which flags exist is in `flags.ts`, all settings are in `platform/config/`.
 */
import type { SettingName } from '../server/settings.ts';
import { askCommand } from './ask-help.ts';
import { jsonFlag, makeKeyFlag, serverFlag } from './flag-help.ts';
import { gatewayCommand } from './gateway-help.ts';
import { guardCommand } from './guard-help.ts';

/** A flag as help shows it, such as `--limit COUNT`, with its default where it has one. */
export interface FlagHelp {
  readonly flag: string;
  readonly help: string;
  readonly usual?: string;
}

/** What `--help` shows of one command or subcommand. The number of words that it takes is checked by `takes`. */
export interface CommandHelp {
  /** The words behind its name: `NAME` is required, `[NAME]` may be left out, and `…` allows several. */
  readonly takes?: string;
  readonly summary: string;
  readonly flags?: readonly FlagHelp[];
  /** Settings that matter to it; it takes all others too. */
  readonly settings?: readonly SettingName[] | 'all';
  readonly examples: readonly [string, string];
  readonly docs: string;
  readonly subcommands?: Readonly<Record<string, CommandHelp>>;
  /** Whether it does something without a subcommand too. */
  readonly actsAlone?: boolean;
}

/** Where the data of the server is. */
const stored: readonly SettingName[] = ['data', 'database'];

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
    settings: [...stored, 'auditKey'],
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
    settings: [...stored, 'auditKey'],
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
    settings: [...stored, 'auditKey'],
    examples: ['audit tail', 'audit tail --result failed --limit 100'],
    docs: 'docs/reference/audit.md',
  },
  forget: {
    summary:
      'Make the database forget the audit log, after you moved the log away on purpose, for example for a new key. Stop the server first.',
    settings: [...stored, 'auditKey'],
    examples: ['audit forget', 'audit forget --data /srv/workcrate'],
    docs: 'docs/reference/audit.md',
  },
} satisfies Record<string, CommandHelp>;

const asUser: FlagHelp = { flag: '--user NAME', help: 'act as this user', usual: 'local' };

const makePageFlags = (usual: string, most: string): FlagHelp[] => [
  { flag: '--limit COUNT', help: `at most this many, up to ${most}`, usual },
  { flag: '--offset COUNT', help: 'skip this many, for the next page', usual: '0' },
];

const cratesHelp = {
  index: {
    summary: 'Read new and changed crates from all sources into the index.',
    flags: [jsonFlag],
    settings: [...stored, 'crateSources'],
    examples: ['crates index', 'crates index --crate-sources file:///srv/crates'],
    docs: 'docs/guide/crates.md',
  },
  search: {
    takes: '[QUERY…]',
    summary: 'Find research crates by words, fields and meaning.',
    flags: [
      { flag: '--mode MODE', help: 'keyword, semantic or hybrid', usual: 'hybrid' },
      { flag: '--filter FIELD=VALUE', help: 'only crates with this value; can be given several times' },
      ...makePageFlags('10', '100'),
      asUser,
      jsonFlag,
    ],
    settings: stored,
    examples: [
      "crates search 'glacier author:byron'",
      'crates search temperature --filter year=2021 --mode keyword',
    ],
    docs: 'docs/guide/crates.md',
  },
  show: {
    takes: 'CRATE_ID',
    summary: 'Show what is known about a crate.',
    flags: [asUser, jsonFlag],
    settings: stored,
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
      asUser,
      jsonFlag,
    ],
    settings: stored,
    examples: [
      'crates files crate_d1b02935602ae245269cf425',
      "crates files crate_d1b02935602ae245269cf425 --glob '*.csv'",
    ],
    docs: 'docs/guide/crates.md',
  },
  read: {
    takes: 'CRATE_ID PATH',
    summary: 'Write one file of a crate to standard output, byte for byte.',
    flags: [asUser],
    settings: stored,
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
      { flag: '--author NAME', help: 'an author; can be given several times' },
      { flag: '--keyword WORD', help: 'a keyword; can be given several times' },
      { flag: '--shared', help: 'let all users find it' },
      { flag: '--specification VERSION', help: 'of RO-Crate: 1.1, 1.2 or 1.3', usual: '1.1' },
      asUser,
      jsonFlag,
    ],
    settings: [...stored, 'packTo'],
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
      asUser,
      jsonFlag,
    ],
    settings: stored,
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
    settings: stored,
    examples: ['user add ada', 'user add monitor --scopes metrics --expires 90d'],
    docs: 'docs/guide/users.md',
  },
  list: {
    summary: 'List users and their keys, without the secrets.',
    flags: [jsonFlag],
    settings: stored,
    examples: ['user list', 'user list --json'],
    docs: 'docs/guide/users.md',
  },
  rotate: {
    takes: 'NAME',
    summary: 'Give a user a new key. The old keys stop working.',
    flags: keyTerms('those of the last key', 'as long as the last key'),
    settings: stored,
    examples: ['user rotate ada', 'user rotate ada --expires 90d'],
    docs: 'docs/guide/users.md',
  },
  remove: {
    takes: 'NAME',
    summary: 'Remove a user. Keys, links and uploads stop working at once; files stay until they expire.',
    settings: stored,
    examples: ['user remove ada', 'user remove ada --data /srv/workcrate'],
    docs: 'docs/guide/users.md',
  },
} satisfies Record<string, CommandHelp>;

/** Every command, in the order in which help lists them. A command that is not here cannot be run. */
export const commandHelp = {
  serve: {
    summary: 'Serve MCP and links over HTTP until stopped.',
    settings: 'all',
    examples: ['serve', 'serve --port 9181 --auth keys --file-ttl 86400'],
    docs: 'docs/reference/settings.md',
  },
  stdio: {
    summary: 'Serve MCP to the client that started it, with links over HTTP on this machine.',
    settings: 'all',
    examples: ['stdio', 'stdio --share-roots ./results,./reports'],
    docs: 'docs/guide/connect.md',
  },
  check: {
    summary: 'Check the database and the stored files. The exit code is 1 if something is wrong.',
    flags: [
      { flag: '--read-data', help: 'also compare every stored byte with its hash' },
      {
        flag: '--adopt-storage',
        help: 'continue with an empty folder or bucket, after the old files were lost for good; or with a restored database in place of the one that it is a copy of',
      },
      { flag: '--remove-orphans', help: 'delete stored bytes that belong to no file, quarantine too' },
    ],
    settings: [...stored, 'filesDir', 'storage'],
    examples: ['check', 'check --read-data --data /srv/workcrate'],
    docs: 'docs/guide/backup.md',
  },
  doctor: {
    summary: 'Show what works on this machine, and what to install for the rest.',
    settings: [...stored, 'host', 'port', 'sandbox', 'storage'],
    examples: ['doctor', 'doctor --sandbox docker'],
    docs: 'docs/reference/limits.md',
  },
  user: {
    takes: 'SUBCOMMAND',
    summary: 'Say who may use the server, with --auth keys. Works while the server runs.',
    settings: stored,
    examples: ['user add ada', 'user list'],
    docs: 'docs/guide/users.md',
    subcommands: userHelp,
  },
  usage: {
    summary:
      'Show what each user stores and runs: files, links, runs, folder sizes. Works while the server runs.',
    flags: [jsonFlag],
    settings: stored,
    examples: ['usage', 'usage --data /srv/workcrate --json'],
    docs: 'docs/guide/observe.md',
  },
  status: {
    summary: 'Ask a running server how it is. The exit code is 1 if it is not ready.',
    flags: [serverFlag, makeKeyFlag('key with the scope metrics or operator'), jsonFlag],
    settings: ['data', 'host', 'port'],
    examples: ['status', 'status --url https://crate.example.org --json'],
    docs: 'docs/guide/observe.md',
  },
  call: {
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
  ask: askCommand,
  gateway: gatewayCommand,
  audit: {
    takes: 'SUBCOMMAND',
    summary:
      'Show who did what, from the audit log. All but forget only read, and work while the server runs.',
    settings: [...stored, 'auditKey'],
    examples: ['audit tail', 'audit verify'],
    docs: 'docs/reference/audit.md',
    subcommands: auditHelp,
  },
  build: {
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
    summary: 'Read new and changed crates from all sources into the index. The same as crates index.',
    flags: [jsonFlag],
    settings: [...stored, 'crateSources'],
    examples: ['index', 'index --crate-sources file:///srv/crates'],
    docs: 'docs/guide/crates.md',
  },
  crates: {
    takes: 'SUBCOMMAND',
    summary: 'Find, read and pack research crates. Works while the server runs.',
    settings: stored,
    examples: ["crates search 'glacier author:byron'", 'crates status'],
    docs: 'docs/guide/crates.md',
    subcommands: cratesHelp,
  },
  replay: {
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
      asUser,
      jsonFlag,
    ],
    settings: [...stored, 'sandbox', 'runMaxTimeout'],
    examples: ['replay crate_6de0c805e19e1cc7580adb1a', 'replay ./melt-rates.zip --json'],
    docs: 'docs/guide/crates.md',
  },
  validate: {
    takes: 'CRATE',
    summary:
      'Check a crate (a .zip file, a folder or a CRATE_ID) by the rules of RO-Crate and of its profiles. The exit code is 1 if it breaks one.',
    flags: [
      {
        flag: '--profile NAME',
        help: 'ro-crate-1.1, ro-crate-1.2, ro-crate-1.3, process-run-crate, workflow-ro-crate, workflow-run-crate or provenance-run-crate',
        usual: 'what the crate states',
      },
      asUser,
      jsonFlag,
    ],
    settings: [...stored, 'maxMetadata'],
    examples: ['validate ./melt-rates.zip', 'validate ./melt-rates --profile ro-crate-1.2 --json'],
    docs: 'docs/reference/validate.md',
  },
  guard: guardCommand,
} satisfies Record<string, CommandHelp>;

export type CommandName = keyof typeof commandHelp;

export type SubcommandOf<Name extends 'audit' | 'crates' | 'gateway' | 'guard' | 'user'> =
  keyof (typeof commandHelp)[Name]['subcommands'];
