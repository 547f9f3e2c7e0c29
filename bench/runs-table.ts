/** A line of the table: what was measured, what came out, what was asked for. */
export interface Line {
  readonly what: string;
  readonly seen: string;
  readonly asked: string;
  /** Null where nothing was asked for. */
  readonly ok: boolean | null;
}

export function head(...columns: readonly string[]): void {
  console.log('');
  row(...columns);
  row(...columns.map((column) => '-'.repeat(column.length)));
}

/** Printed as soon as it is known: the whole takes minutes. */
export function row(...cells: readonly string[]): void {
  console.log(`| ${cells.join(' | ')} |`);
}

export function tell({ what, seen, asked, ok }: Line): void {
  row(what, seen, asked, ok === null ? '' : ok ? 'yes' : 'no');
}
