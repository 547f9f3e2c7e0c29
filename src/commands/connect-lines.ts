/** How to connect the clients that have a command for it; with a key where the server asks for one. */
export function connectLines(base: string, key: string | null): string {
  const url = `${base}/mcp`;
  const header = key === null ? '' : ` --header "Authorization: Bearer ${key}"`;
  const entry = {
    name: 'workcrate',
    type: 'http',
    url,
    ...(key === null ? {} : { headers: headersWith(key) }),
  };
  return `  Claude Code:   claude mcp add --transport http workcrate ${url}${header}
  VS Code:       code --add-mcp '${JSON.stringify(entry)}'
`;
}

const headersWith = (key: string) => ({ Authorization: `Bearer ${key}` });
