/**
 * What has changed between two definitions of a tool, in lines that a person reads. Both come from a server, so nothing in
 * them passes for a line of ours.
 */
import { toPlainJson } from '../../platform/text/text.ts';

/** Beyond so many lines the parts that differ are shown whole. */
const maxCompared = 1500;
const maxDifferenceLength = 400;
const maxLine = 300;

/** Lines with `-` are those of the accepted definition, lines with `+` those of the new one. Both are JSON. */
export function describeDifference(accepted: string, held: string): string {
  const [before, after] = [toLines(accepted), toLines(held)];
  const lines = compareLines(before, after);
  const more = lines.length - maxDifferenceLength;
  const shown = lines
    .slice(0, maxDifferenceLength)
    .map((line) => (line.length > maxLine ? `${line.slice(0, maxLine)}…` : line));
  return [...shown, ...(more > 0 ? [`  and ${more} more lines`] : [])].join('\n');
}

/** Longer texts are broken at their line breaks, so that one changed word does not show the whole text. */
const toLines = (definition: string): string[] =>
  toPlainJson(JSON.parse(definition), 2)
    .split('\n')
    .flatMap((line) => line.split(/(?<=\\n)/));

function compareLines(before: readonly string[], after: readonly string[]): string[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  )
    end++;
  const removed = before.slice(start, before.length - end);
  const added = after.slice(start, after.length - end);
  if (removed.length > maxCompared || added.length > maxCompared)
    return [...removed.map((line) => `- ${line}`), ...added.map((line) => `+ ${line}`)];
  return walkChangesBack(removed, added, measureCommon(removed, added));
}

/** For every pair of starts, how many lines they have in common, in order. */
function measureCommon(one: readonly string[], other: readonly string[]): Uint16Array[] {
  const rows = [new Uint16Array(other.length + 1)];
  for (const line of one) {
    const above = rows.at(-1)!;
    const row = new Uint16Array(other.length + 1);
    for (let at = 0; at < other.length; at++)
      row[at + 1] = line === other[at] ? above[at]! + 1 : Math.max(above[at + 1]!, row[at]!);
    rows.push(row);
  }
  return rows;
}

function walkChangesBack(
  removed: readonly string[],
  added: readonly string[],
  common: readonly Uint16Array[],
): string[] {
  const lines: string[] = [];
  let [left, right] = [removed.length, added.length];
  while (left > 0 || right > 0) {
    if (left > 0 && right > 0 && removed[left - 1] === added[right - 1]) {
      lines.push(`  ${removed[left - 1]}`);
      left--;
      right--;
    } else if (right > 0 && (left === 0 || common[left]![right - 1]! >= common[left - 1]![right]!))
      lines.push(`+ ${added[--right]}`);
    else lines.push(`- ${removed[--left]}`);
  }
  return lines.toReversed();
}
