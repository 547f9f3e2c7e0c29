/** Tools whose calls are runs. Each has a row, from which its line can be written again. */
const runTools: ReadonlySet<string> = new Set(['execute_code', 'execute_bash']);

export const isRunTool = (name: string): boolean => runTools.has(name);
