import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { upload } from '../../server.testing.ts';
import { allOf, type ServerAttack, type ServerStage } from './server-stage.testing.ts';

const wall = 'records' as const;

/** The share of a user, as the server of the suite has it. */
export const recordShare = 16 * 1024 ** 2;

// oxlint-disable-next-line eslint/no-control-regex -- they are what is looked for
const controls = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]/;

/** The journal of executions, wherever it stands in the data of the server. */
function journal({ server }: ServerStage): string[] {
  return readdirSync(server.data, { recursive: true, encoding: 'utf8' })
    .filter((name) => /executions-\d{4}-\d{2}-\d{2}\.jsonl$/.test(name))
    .flatMap((name) => readFileSync(join(server.data, name), 'utf8').split('\n'))
    .filter((line) => line !== '');
}

/** What the database holds of runs, and the journal. */
function recordBytes(stage: ServerStage): { rows: number; lines: number } {
  const database = new DatabaseSync(join(stage.server.data, 'workcrate.db'), { readOnly: true });
  try {
    const sum = 'SUM(OCTET_LENGTH(code) + OCTET_LENGTH(stdin) + OCTET_LENGTH(haystack))';
    const row = database.prepare(`SELECT ${sum} AS bytes FROM executions`).get() as { bytes: number | null };
    return { rows: row.bytes ?? 0, lines: journal(stage).reduce((all, line) => all + line.length, 0) };
  } finally {
    database.close();
  }
}

/** Every line is an object of the server's making, one for each run. */
function forged(stage: ServerStage, before: number, runs: number): string | null {
  const lines = journal(stage);
  if (lines.length - before !== runs) return `${lines.length - before} lines for ${runs} runs`;
  const wrong = [...lines, ...stage.server.logged.map((line) => line.trimEnd())].find(
    (line) => !isClean(line),
  );
  return wrong === undefined ? null : `a line is forged: ${JSON.stringify(wrong.slice(0, 200))}`;
}

function isClean(line: string): boolean {
  try {
    const { event, id } = JSON.parse(line) as { event?: string; id?: string };
    return !controls.test(line) && !line.includes('\n') && event !== 'forged' && id !== 'exec_000000000000';
  } catch {
    return false;
  }
}

const forgery = String.raw`\n{"level":"error","event":"forged","id":"exec_000000000000"}\n\r\n\x1b[2J\x1b]0;title\x07\x9b31m\x85\xe2\x80\xa8\x00\x08\x7f`;

export const recordAttacks: readonly ServerAttack[] = [
  {
    name: 'prints lines of a log, escape codes and JSON',
    wall,
    mustNotHappen: 'a line of the journal or of the log is forged, or a terminal acts on it',
    async play(stage) {
      const before = journal(stage).length;
      await stage.run(`printf '${forgery}'; printf '${forgery}' >&2`);
      await stage.server.call('execute_code', { language: 'bash', code: `printf '${forgery}'; exit 3` });
      return forged(stage, before, 2);
    },
  },
  {
    name: 'has lines of a log in its code, its folder and the names of its files',
    wall,
    mustNotHappen: 'a line of the journal or of the log is forged',
    async play(stage) {
      const before = journal(stage).length;
      const line = '{"level":"error","event":"forged","id":"exec_000000000000"}';
      const name = `x\n${line}\n\u001b[2J\u0085`;
      await stage.run(
        `: '\n${line}\n\u001b[2J\u009b\u2028'; touch $'x\\n${line}\\n\\e[2J'; mkdir -p /artifacts`,
      );
      await stage.server.call('execute_code', {
        language: 'bash',
        code: `true\n# ${name}`,
        working_dir: name,
      });
      await stage.server.call('get_artifact', { name });
      await fetch(`${stage.server.url}/${encodeURIComponent(name)}/artifacts/${encodeURIComponent(name)}`);
      const refused = journal(stage).length - before;
      return forged(stage, before, refused);
    },
  },
  {
    name: 'prints 50 MB',
    wall,
    mustNotHappen: 'more than the limit of characters is in the answer',
    async play(stage) {
      const { data, raw } = await stage.run('head -c 50M /dev/zero | tr "\\0" "x"; echo the end');
      if (data.stdout.length > 10_000 || JSON.stringify(raw).length > 60_000)
        return `${data.stdout.length} characters`;
      return data.truncated === true && data.stdout.endsWith('the end\n')
        ? null
        : 'it is not told as truncated';
    },
  },
  {
    name: 'runs 18 times with 1 MB of code and 2 MB of stdin',
    wall,
    mustNotHappen:
      'the records of a user take more than their share of the database, or the journal has all of it twice',
    async play(stage) {
      const before = recordBytes(stage);
      const code = `true # ${'c'.repeat(1024 ** 2 - 10)}`;
      const stdin = 's'.repeat(2 * 1024 ** 2);
      for (let n = 0; n < 18; n += 6) {
        const run = () => stage.server.call('execute_code', { language: 'bash', code, stdin });
        const replies = await Promise.all(Array.from({ length: 6 }, run));
        const refused = replies.find(({ failed }) => failed);
        if (refused !== undefined) return `it did not run: ${refused.text}`;
      }
      const { rows, lines } = recordBytes(stage);
      const [grown, told] = [rows - before.rows, lines - before.lines];
      // What is under way, and what comes before the next look, is beyond the share for a moment.
      if (grown > 1.5 * recordShare) return `${grown} bytes of records, of which ${recordShare} may be kept`;
      return told < 18 * 16 * 1024 ? null : `${told} bytes of lines`;
    },
  },
  {
    name: 'leads the working directory out of its place',
    wall: 'filesystem',
    mustNotHappen: 'code runs in, or makes, a folder of the server',
    async play(stage) {
      const { folder, text } = stage.secret;
      await stage.run(`ln -s ${folder} out; ln -s / root; ln -s .. up; mkdir real; ln -s real alias`);
      for (const working_dir of [
        'out',
        'out/new',
        'root',
        `root${folder}`,
        'up',
        `up/..${folder}`,
        '/workspace/out',
        folder,
        '/etc',
        '~/.ssh',
        '../../..',
        '/proc/self/cwd',
        '/workspace/../etc',
        '/artifacts/../../etc',
      ]) {
        const reply = await stage.server.call('execute_code', {
          language: 'bash',
          code: 'cat secret.txt; touch planted; pwd -P',
          working_dir,
        });
        if (allOf(reply).includes(text)) return `read by ${working_dir}`;
        if (!reply.failed && !/^\/(workspace|artifacts)(\/|$)/m.test(reply.data.stdout))
          return `ran in ${working_dir}: ${reply.data.stdout}`;
      }
      return null;
    },
  },
  {
    name: 'lets the server write a given file through a planted link',
    wall: 'filesystem',
    mustNotHappen: 'a file of the server is overwritten, or the server hangs at a FIFO (CVE-2024-28185)',
    async play(stage) {
      const file = await upload(stage.server, 'given.txt', 'overwritten');
      for (const plant of [
        `ln -s ${stage.secret.file} given.txt`,
        'mkfifo given.txt',
        'mkdir given.txt',
        `ln -s ${stage.secret.folder}/new given.txt`,
        'echo own > given.txt; ln given.txt twice',
      ]) {
        await stage.run(`rm -rf given.txt; ${plant}`);
        const reply = await stage.server.call('execute_bash', {
          command: 'cat twice 2> /dev/null; ls -la',
          files: [file],
        });
        if (allOf(reply).includes(stage.secret.text)) return 'the secret was read';
      }
      return null;
    },
  },
  {
    name: 'closes its own folders to the server',
    wall: 'filesystem',
    mustNotHappen: 'the next run, the listing or the comparison fails for ever',
    async play(stage) {
      await stage.run('mkdir closed; echo x > closed/file; chmod 0 closed /artifacts; chmod 0 /workspace');
      const { failed, text } = await stage.server.call('execute_code', {
        language: 'bash',
        code: 'echo works',
      });
      const after = await stage.server.call('execute_bash', { command: 'echo works' });
      if (failed) return `the next run: ${text}`;
      return after.data?.exit_code === 0 ? null : `the run after that: ${after.text}`;
    },
  },
  {
    name: 'goes on after its call has been answered',
    wall: 'whole_tree',
    mustNotHappen: 'a daemon that ignores SIGTERM writes files later on',
    async play(stage) {
      const daemon = 'while :; do touch /workspace/alive; sleep 0.05; done';
      await stage.server.call('execute_bash', {
        command: `trap "" TERM; (setsid sh -c "${daemon}" &); sleep 30`,
        timeout: 0.2,
      });
      const { data } = await stage.run('rm /workspace/alive; sleep 0.5; ls /workspace');
      return data.stdout.includes('alive') ? 'it went on' : null;
    },
  },
];
