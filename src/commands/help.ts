import { settingsHelp } from '../config.ts';
import { packageVersion } from '../version.ts';

export function helpText(): string {
  return `workcrate ${packageVersion}: a self-hosted MCP server through which files leave and enter by link

Usage: workcrate COMMAND [OPTIONS]

Commands
  serve     serve MCP and links over HTTP until stopped
  stdio     serve MCP to the client that started it, with links over HTTP on loopback
  check     verify the data folder; --read-data also compares every stored byte with its hash
              --adopt-storage goes on with an empty place for files where the old one is gone for good
  doctor    tell what works on this machine, and what to install for the rest
  user      say who may use the server, with --auth keys; also while it runs
              add NAME [--scopes code,artifacts,files,crates,documents,client,operator] [--expires 90d]   prints a key, once
              list [--json], rotate NAME (new key, old ones end), remove NAME
  usage     who has and does what: files, links, runs, sizes of folders, last use of keys; also while it runs; --json
  crates    the research crates that it knows, also while it runs; --json is for programs
              search QUERY [--mode keyword|semantic|hybrid] [--filter license=MIT] [--limit 10] [--offset 0]
              show CRATE_ID, files CRATE_ID [--glob '*.csv'], read CRATE_ID PATH, status, index
              pack EXECUTION_ID [--title TEXT] [--author NAME] [--license ID] [--keyword WORD] [--shared]
              --user NAME does it in the name of a user; default: local
  index     the same as crates index: bring the index of crates up to date
  replay    run a packed crate again and compare its results: replay FILE.zip or CRATE_ID [--json]
  build     build a document: build FILE.md [--to pdf,docx] [--bibliography FILE.bib] [--style apa]
              [--csl FILE.csl] [--reference-doc FILE.docx] [-o FOLDER]
  audit     who did what, also while it runs: verify, search [TEXT], tail, forget; workcrate audit --help tells the options
  status    ask a running server how it is; --url URL names another, --json is for programs

Options
  -h, --help             this text
  -v, --version          the version
  --config FILE          read settings from a YAML or JSON file (WORKCRATE_CONFIG)
  --print-config         show every setting, its value and where it came from

Settings, as options; each can also stand in the environment or, as file_ttl: 3600, in the config file
${settingsHelp()}`;
}
