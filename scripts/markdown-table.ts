/** A table of Markdown as the formatter wants it: every column as wide as its widest cell. */
export function formatTable(head: readonly string[], rows: readonly string[][]): string {
  const all = [head, ...rows].map((cells) => cells.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = head.map((_, at) => Math.max(...all.map((cells) => cells[at]!.length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(' | ')} |`;
  const [first, ...others] = all.map(line);
  return [first, line(widths.map((width) => '-'.repeat(width))), ...others].join('\n');
}
