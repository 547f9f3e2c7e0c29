import type { Status } from '../status.ts';
import { formatBytes } from '../text.ts';

/** The status for people: one line for each thing worth a look. */
export function statusText(url: string, told: Status): string {
  const { backends, files, links, executions, runs, transfers, disk } = told;
  const lines: [string, string][] = [
    ['server', `workcrate ${told.version} at ${url}, on Node ${told.node}`],
    ['up for', span(told.uptime_seconds)],
    ['ready', told.ready ? 'yes' : `no: ${told.not_ready_because}`],
    ['database', backends.database],
    ['storage', backends.storage],
    ['code runs in', backends.sandbox],
    [
      'users',
      `${told.users}, ${backends.auth.length === 0 ? 'no auth' : `auth by ${backends.auth.join(' and ')}`}`,
    ],
    [
      'files',
      `${files.kept} of ${files.most_files}, ${formatBytes(files.bytes)} of ${formatBytes(files.most_bytes)}`,
    ],
    ['links', `${links.active} active; made since the start: ${listed(links.made)}`],
    [
      'executions',
      `${executions.succeeded} succeeded, ${executions.failed} failed; since the start: ${listed(executions.ended)}`,
    ],
    [
      'runs',
      `${runs.running} of ${runs.most} running, ${runs.queued} waiting, ${runs.warm} interpreters ready`,
    ],
    ['transfers', `${transfers.in} in, ${transfers.out} out, ${told.sessions} MCP sessions`],
    ['errors', listed(told.errors)],
    [
      'disk',
      disk === null ? 'unknown' : `${formatBytes(disk.free_bytes)} of ${formatBytes(disk.total_bytes)} free`,
    ],
    ['last sweep', told.last_sweep ?? 'none yet'],
  ];
  return lines.map(([what, value]) => `${`${what}:`.padEnd(14)}${value}\n`).join('');
}

function listed(counts: Readonly<Record<string, number>>): string {
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  return some.length === 0 ? 'none' : some.map(([name, count]) => `${count} ${name}`).join(', ');
}

function span(seconds: number): string {
  const [days, hours, minutes] = [seconds / 86_400, (seconds % 86_400) / 3600, (seconds % 3600) / 60];
  const parts = [
    `${Math.floor(days)} d`,
    `${Math.floor(hours)} h`,
    `${Math.floor(minutes)} min`,
    `${seconds % 60} s`,
  ];
  const first = parts.findIndex((part) => !part.startsWith('0 '));
  return parts.slice(first === -1 ? 3 : first, first === -1 ? 4 : first + 2).join(' ');
}
