/** What the tools of scripts say to a model: every fact, in few words. Texts of users are quoted. */
import { formatBytes, quoteName, quoteShort } from '../../platform/text/text.ts';
import { toScriptLabel } from './names.ts';
import type { ScriptPage, WholeScript } from './scripts.ts';
import type { FoundScript } from './store.ts';

const toSecond = (time: number): string => `${new Date(time).toISOString().slice(0, 19)}Z`;

export function describeSaved(saved: FoundScript): string {
  return [
    `Saved ${describeScript(saved)}`,
    `Run it: run_script {"name": "${saved.name}"}, with args if it takes any. ${toScriptLabel(saved)} is always this version.`,
  ].join('\n');
}

const maxDescriptionInLine = 1000;

/** A script in a list, in one line. */
function describeScript(found: FoundScript): string {
  const { script, tags, packages, sourceExecution } = found;
  const about = [
    `${found.language}, ${formatBytes(found.codeBytes)}, saved ${toSecond(found.createdAt)}`,
    script.versions === 1
      ? '1 version'
      : `${script.versions} versions${script.latest === found.version ? '' : `, the latest is ${script.latest}`}`,
    ...(tags.length === 0 ? [] : [`tags ${tags.map(quoteName).join(', ')}`]),
    ...(packages.length === 0 ? [] : [`needs ${packages.join(', ')}`]),
    ...(sourceExecution === null ? [] : [`made of ${sourceExecution}`]),
    describeRuns(found),
  ];
  return `${toScriptLabel(found)} (${about.join('; ')}): ${quoteShort(found.description, maxDescriptionInLine)}`;
}

function describeRuns({ script: { runs, lastRun } }: FoundScript): string {
  if (lastRun === null) return 'never run';
  const { executionId, version, at, outcome } = lastRun;
  return `run ${runs} times, last ${toSecond(at)} version ${version}: ${outcome} (${executionId})`;
}

export function describeScriptPage({ scripts, next }: ScriptPage, tool: string): string {
  const lines = scripts.map(describeScript);
  if (lines.length === 0)
    lines.push(
      tool === 'list_scripts' ? 'You have no scripts. save_script makes one.' : 'Nothing was found.',
    );
  if (next !== null) lines.push(`There are more: ${tool} with after ${next}`);
  return lines.join('\n');
}

export function describeWhole(whole: WholeScript, code: CodePart): string {
  const { allVersions, runs } = whole;
  return [
    describeScript(whole),
    `Versions: ${allVersions.join(', ')}. This one was run ${runs} times.`,
    code.from === 0 ? '--- code ---' : `--- code from ${code.from} ---`,
    code.text.replace(/\n$/, ''),
    ...(code.next === null
      ? []
      : [
          `There is more: get_script ${JSON.stringify({ name: toScriptLabel(whole), code_from: code.next })}`,
        ]),
  ].join('\n');
}

/** A part of the code, by offsets in characters. */
export interface CodePart {
  readonly text: string;
  readonly from: number;
  readonly next: number | null;
}

/** As much of the code as fits. No half of a surrogate pair is at an end. */
export function cutCode(code: string, from: number, most: number): CodePart {
  const start = Math.min(from, code.length);
  const whole = code.slice(start, start + most);
  const text = /[\ud800-\udbff]$/.test(whole) ? whole.slice(0, -1) : whole;
  const end = start + text.length;
  return { text, from: start, next: end < code.length ? end : null };
}

export function describeDeleted(name: string, versions: readonly number[], left: number): string {
  const which = versions.length === 1 ? `version ${versions[0]}` : `versions ${versions.join(', ')}`;
  const rest = left === 0 ? 'None is left.' : `${left} ${left === 1 ? 'version is' : 'versions are'} left.`;
  return `Deleted ${which} of ${quoteName(name)}. ${rest} What it ran before stays recorded.`;
}
