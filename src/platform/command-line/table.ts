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
