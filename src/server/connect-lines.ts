/** How to connect clients to a server over HTTP: a command or a link for each. docs/guide/connect.md has the rest. */

/** A command or a link for each client. */
export function listConnectLines(base: string, key: string | null): ConnectLine[] {
  const url = `${base}/mcp`;
  return [...listCommands(url, key), ...(key === null ? listDeepLinks(url) : [])];
}

/** Links that their apps open; with a key where the server asks for one, and then commands alone: a link would hide it. */
export function formatConnectLines(base: string, key: string | null): string {
  const lines = listConnectLines(base, key);
  return lines.map(([client, how]) => `  ${(client && `${client}:`).padEnd(15)}${how}\n`).join('');
}

type ConnectLine = readonly [client: string, how: string];

/** Codex runs no tool that may change something, unless its configuration allows it. */
const codexSetting = 'in ~/.codex/config.toml, below what this adds: default_tools_approval_mode = "approve"';

function listCommands(url: string, key: string | null): ConnectLine[] {
  const header = key === null ? '' : ` --header "Authorization: Bearer ${key}"`;
  const bearer = key === null ? '' : ' --bearer-token-env-var WORKCRATE_KEY';
  return [
    ['Claude Code', `claude mcp add --transport http workcrate ${url}${header}`],
    ['Codex', `codex mcp add --url ${url}${bearer} workcrate`],
    ['', codexSetting],
    ...(key === null
      ? []
      : [['VS Code', `code --add-mcp '${JSON.stringify(toVsCodeEntry(url, key))}'`] as const]),
  ];
}

function listDeepLinks(url: string): ConnectLine[] {
  const config = encodeURIComponent(Buffer.from(JSON.stringify({ url })).toString('base64'));
  return [
    ['VS Code', `vscode:mcp/install?${encodeURIComponent(JSON.stringify(toVsCodeEntry(url, null)))}`],
    ['Cursor', `cursor://anysphere.cursor-deeplink/mcp/install?name=workcrate&config=${config}`],
    ['LM Studio', `lmstudio://add_mcp?name=workcrate&config=${config}`],
  ];
}

const toVsCodeEntry = (url: string, key: string | null) => ({
  name: 'workcrate',
  type: 'http',
  url,
  ...(key === null ? {} : { headers: { Authorization: `Bearer ${key}` } }),
});
