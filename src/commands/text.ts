/** Columns for people; the first row holds the heads. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, at) => cell.padEnd(widths[at]!))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** A moment for people, in UTC. */
export const formatMinute = (time: number): string =>
  `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')}Z`;

/** How to connect the clients that have a command for it; with a key where the server asks for one. */
export function formatConnectLines(base: string, key: string | null): string {
  const url = `${base}/mcp`;
  const header = key === null ? '' : ` --header "Authorization: Bearer ${key}"`;
  const entry = {
    name: 'workcrate',
    type: 'http',
    url,
    ...(key === null ? {} : { headers: toAuthHeaders(key) }),
  };
  return `  Claude Code:   claude mcp add --transport http workcrate ${url}${header}
  VS Code:       code --add-mcp '${JSON.stringify(entry)}'
`;
}

const toAuthHeaders = (key: string) => ({ Authorization: `Bearer ${key}` });
