export interface Remark {
  readonly file: string;
  /** From 1; null for what is about the whole file. */
  readonly line: number | null;
  /** The last of several lines of which the same is true. */
  readonly to?: number;
  readonly what: string;
}

const mostRemarks = 100;

/** Adds one, unless there are enough. What is true of several lines in a row is one remark. */
export function told(remarks: Remark[], remark: Remark): void {
  const at = remarks.findLastIndex(({ file, what }) => file === remark.file && what === remark.what);
  const like = remarks[at];
  if (like !== undefined && like.line !== null && (like.to ?? like.line) + 1 === remark.line)
    remarks[at] = { ...like, to: remark.line };
  else if (remarks.length < mostRemarks) remarks.push(remark);
}

export function remarkText({ file, line, to, what }: Remark): string {
  if (line === null) return `${file}: ${what}`;
  return `${file}, ${to === undefined ? `line ${line}` : `lines ${line} to ${to}`}: ${what}`;
}
