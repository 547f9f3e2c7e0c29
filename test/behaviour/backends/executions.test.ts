import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { noSandbox, run, useCodeServer } from '../../code.testing.ts';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { processesWith } from '../../processes.testing.ts';
import { backends, upload } from '../../server.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

describe(`running code, on ${backends}`, { skip: noSandbox }, () => {
  const server = useCodeServer();

  it('what does not fit the schema is an error, and nothing runs', async () => {
    const before = (await server().call('search_executions', {})).data.executions.length;
    for (const input of [
      { language: 'python', code: '' },
      { language: 'ruby', code: 'puts 1' },
      { language: 'python' },
      { language: 'python', code: 'print(1)', timeout_ms: -5 },
      { language: 'python', code: 'print(1)', timeout_ms: 'long' },
      { language: 'python', code: 'print(1)', more: true },
    ]) {
      const { failed, text } = await server().call('execute_code', input);
      assert.ok(failed && /Invalid arguments/.test(text), JSON.stringify(input));
    }
    assert.equal((await server().call('search_executions', {})).data.executions.length, before);
    recordProof('D1:bad-input-runs-nothing');
  });

  it('what it left where nothing is kept is told in the answer and in its record, with the way to keep it', async () => {
    const code = 'open("/tmp/result.csv", "w").write("12345")\nopen("out.txt", "w").write("1")';
    const asked = { language: 'python', code, working_dir: '/tmp/myproject' };
    const { data, text } = await server().call('execute_code', asked);
    const left = {
      files: [
        { path: '/tmp/myproject/out.txt', size: 1 },
        { path: '/tmp/result.csv', size: 5 },
      ],
      more: 0,
      complete: true,
    };
    assert.deepEqual(data.temporary_files, left);
    const record = await server().call('get_execution', { execution_id: data.execution_id });
    assert.deepEqual(record.data.temporary_files, left);
    for (const said of [text, record.text]) {
      assert.match(said, /\/tmp\/myproject was made empty for the run/);
      assert.match(said, /Not kept.*result\.csv \(5 bytes\).*\/artifacts/);
    }
    const { temporary_files: none } = await run(server(), 'bash', 'echo kept > /artifacts/kept');
    assert.equal(none, undefined);
    recordProof('D8:not-kept-is-told');
  });

  it('a result tells what came out and how it ended', async () => {
    const code =
      'import sys\nprint(input())\nprint("oh", file=sys.stderr)\nopen("made.txt", "w").write("x")\nsys.exit(3)';
    const { execution_id, duration_ms, artifacts, ...rest } = await run(server(), 'python', code, {
      stdin: 'in\n',
    });
    assert.match(execution_id, /^exec_[0-9a-f]{12}$/);
    assert.ok(duration_ms >= 0);
    assert.deepEqual([artifacts.created, artifacts.modified, artifacts.deleted], [['made.txt'], [], []]);
    assert.deepEqual(rest, {
      language: 'python',
      stdout: 'in\n',
      stderr: 'oh\n',
      exit_code: 3,
      signal: null,
      timed_out: false,
      truncated: false,
      end_reason: 'exit',
      unenforced: rest.unenforced,
      hint: null,
      results: [],
      more_results: 0,
      full_stdout: null,
      full_stderr: null,
      background: null,
      output_next: null,
    });
    recordProof('D1:stdin', 'D2:result-fields');
  });

  it('a program killed by a signal has no exit code', async () => {
    const { exit_code, signal, end_reason } = await run(server(), 'bash', 'kill -SEGV $$');
    assert.deepEqual([exit_code, signal, end_reason], [null, 'SIGSEGV', 'signal']);
    recordProof('D2:exit-code-and-signal');
  });

  it('each execution has a folder of its own, in which no script stands', async () => {
    const first = await run(server(), 'bash', 'pwd; ls -A; touch kept');
    const second = await run(server(), 'bash', 'pwd; ls -A');
    assert.equal(first.stdout, `/workspace/${first.execution_id}\n`);
    assert.equal(second.stdout, `/workspace/${second.execution_id}\n`);
    const { stdout } = await run(server(), 'bash', 'ls /workspace', { working_dir: '/workspace' });
    assert.ok(stdout.includes(first.execution_id) && !stdout.includes(second.execution_id), stdout);
    recordProof('D3:directory-of-its-own', 'D3:no-script-left');
  });

  it('two runs that share a working_dir do not collide', async () => {
    const both = ['a', 'b'].map((name) =>
      run(
        server(),
        'python',
        `import time\ntime.sleep(0.2)\nopen("${name}", "w").write("${name}")\nprint("${name}")`,
        {
          working_dir: 'shared',
        },
      ),
    );
    assert.deepEqual(
      (await Promise.all(both)).map(({ stdout }) => stdout),
      ['a\n', 'b\n'],
    );
    const { stdout } = await run(server(), 'bash', 'ls -A', { working_dir: '/workspace/shared' });
    assert.equal(stdout, 'a\nb\n');
    recordProof('D1:working-dir', 'D3:shared-working-dir-without-collision');
  });

  it('out of time, all of it is gone, its last words and what it had written are there', async () => {
    const code = `trap 'echo last words; exit 9' TERM; (setsid sleep 98765 &); echo begun; sleep 600 & wait`;
    const soon = await run(server(), 'bash', code, { timeout_ms: 300 });
    // A busy machine may not have begun with it by then.
    const ended = soon.stdout === '' ? await run(server(), 'bash', code, { timeout_ms: 20_000 }) : soon;
    assert.deepEqual([ended.timed_out, ended.end_reason], [true, 'timeout']);
    assert.equal(ended.stdout, 'begun\nlast words\n');
    assert.deepEqual(processesWith('98765'), []);
    recordProof('D1:timeout', 'D4:whole-tree-dies', 'D4:call-returns-after-the-kill');
  });

  it('the environment holds the names that are documented', async () => {
    const fixed = 'PATH HOME LANG TERM TMPDIR USER';
    const names = `${fixed} PYTHONHASHSEED SOURCE_DATE_EPOCH MATPLOTLIBRC`.split(' ').sort();
    const python = await run(server(), 'python', 'import os\nprint(sorted(os.environ))');
    assert.equal(python.stdout.replaceAll(/[[\]',\n]/g, ''), names.join(' '));
    const node = await run(server(), 'node', 'console.log(Object.keys(process.env).sort().join(" "))');
    assert.equal(node.stdout, `${names.join(' ')}\n`);
    const { stdout } = await run(server(), 'bash', 'env | cut -d= -f1 | sort | grep -vx _; echo "$HOME"');
    assert.equal(stdout, `${names.join('\n')}\n/home/user\n`);
    recordProof('D5:documented-names-only', 'D5:home-of-the-sandbox');
  });

  it('folders of the machine are no working_dir, and a name that begins alike is not such a folder', async () => {
    for (const working_dir of ['~/.ssh', '~/.aws/x', '/etc', '/etc/../etc', '/var/lib', server().data]) {
      const { code } = await server().call('execute_code', { language: 'bash', code: 'id', working_dir });
      assert.equal(code, 'path_refused', working_dir);
    }
    await run(server(), 'bash', 'ln -s /etc /workspace/way-out');
    const linked = { language: 'bash', code: 'id', working_dir: '/workspace/way-out' };
    assert.equal((await server().call('execute_code', linked)).code, 'path_refused');
    const alike = { language: 'bash', code: 'id', working_dir: '/etcetera' };
    assert.equal((await server().call('execute_code', alike)).code, 'path_not_found');
    recordProof('D6:protected-folders-refused', 'D6:links-and-tilde-resolved', 'D6:etcetera-is-not-etc');
  });

  it('long output is cut in the middle, and the whole can be had by link', async () => {
    const code = 'print("é" * 30000 + "end")';
    const { stdout, truncated, full_stdout } = await run(server(), 'python', code);
    assert.equal(truncated, true);
    assert.equal(stdout, `${'é'.repeat(4000)}\n[... truncated 22004 chars ...]\n${'é'.repeat(3996)}end\n`);
    const whole = await (await fetch(full_stdout.downloadUrl)).text();
    assert.equal(whole, `${'é'.repeat(30_000)}end\n`);
    recordProof('D7:truncation-note', 'D7:whole-by-link');
  });

  it('an execution is a line of the day and a row that is found again', async () => {
    const forged = 'print(\'x"}\\n{"execution_id":"exec_000000000000","forged":true}\')';
    const { execution_id } = await run(server(), 'python', `# needle-é\n${forged}`);
    const found = (
      await server().call('search_executions', { text: 'NEEDLE-é', language: 'python', status: 'ok' })
    ).data;
    assert.deepEqual(
      found.executions.map((it: { execution_id: string }) => it.execution_id),
      [execution_id],
    );
    const { data } = await server().call('get_execution', { execution_id });
    assert.ok(data.code.includes('needle') && data.stdout.includes('forged') && data.limits.memory_bytes > 0);
    const [day] = globSync(join(server().data, 'logs', 'executions-*.jsonl'));
    const lines = readFileSync(day!, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    assert.equal(lines.filter((line) => JSON.stringify(line).includes(execution_id)).length, 1);
    assert.equal(lines.filter((line) => 'forged' in line).length, 0);
    const answer = await fetch(`${server().url}/executions/${execution_id}`);
    assert.equal(((await answer.json()) as { execution_id: string }).execution_id, execution_id);
    assert.equal((await fetch(`${server().url}/executions/exec_ffffffffffff`)).status, 404);
    recordProof('D9:line-of-the-day', 'D9:row-found-by-search-and-get');
  });

  it('the tools say what there is, and a missing package comes with what to do', async () => {
    const { tools } = await server().client.listTools();
    const { description } = tools.find((tool) => tool.name === 'execute_code')!;
    assert.match(
      description!,
      /No network: packages by install_packages, not by pip or npm\. Python 3\.\d+ (with|without) /,
    );
    const missing = { language: 'python', code: 'import a_package_that_nobody_has' };
    const { text, data } = await server().call('execute_code', missing);
    assert.match(data.hint, /^Python has no a_package_that_nobody_has here\. Install it: install_packages /);
    assert.ok(text.endsWith(data.hint), text);
  });

  it('the tools say that they may change things, and that without a network they do not reach out', async () => {
    const { tools } = await server().client.listTools();
    for (const name of ['execute_code', 'execute_bash']) {
      const { annotations } = tools.find((tool) => tool.name === name)!;
      assert.deepEqual([annotations?.destructiveHint, annotations?.openWorldHint], [true, false]);
    }
    recordProof('D10:hints');
  });

  it('output comes as progress, and cancelling kills the run', async () => {
    const cancel = new AbortController();
    const heard: string[] = [];
    const slow = server().client.callTool(
      {
        name: 'execute_code',
        arguments: { language: 'bash', code: 'echo first; (setsid sleep 87654 &) ; sleep 60' },
      },
      {
        signal: cancel.signal,
        onprogress({ message }) {
          heard.push(message ?? '');
          cancel.abort();
        },
      },
    );
    await assert.rejects(slow);
    assert.match(heard.join(''), /first/);
    await eventually(async () => {
      const { data } = await server().call('search_executions', { text: '87654', status: 'cancelled' });
      return data.executions.length === 1 && processesWith('87654').length === 0;
    });
    recordProof('D10:output-as-progress', 'D10:cancelling-kills');
  });

  it('stored files stand in the working directory, and the record names them', async () => {
    const csv = await upload(server(), 'data set.csv', 'a,b\n1,2\n');
    const code = 'print(open("data set.csv").read(), end="")\nopen("data set.csv", "a").write("3,4\\n")';
    const ran = await run(server(), 'python', code, { files: [csv] });
    assert.deepEqual([ran.stdout, ran.artifacts.modified], ['a,b\n1,2\n', ['data set.csv']]);
    const { inputs } = (await server().call('get_execution', { execution_id: ran.execution_id })).data;
    assert.deepEqual(
      [inputs.length, inputs[0].file_id, inputs[0].name, inputs[0].size],
      [1, csv, 'data set.csv', 8],
    );
  });

  it('the record tells what Python opened and who made it, and where it could not see', async () => {
    const made = await run(server(), 'bash', 'echo 1,2 > a.csv');
    const path = `/workspace/${made.execution_id}/a.csv`;
    const record = async (code: string) => {
      const { execution_id } = await run(server(), 'python', code);
      return (await server().call('get_execution', { execution_id })).data;
    };
    const seen = await record(
      `open("${path}").read(); open("own.txt", "w").write("x"); open("own.txt").read()`,
    );
    const [input] = seen.known_inputs;
    assert.deepEqual(
      [seen.known_inputs.length, input.path, input.size, input.how, input.made_by],
      [1, path, 4, 'opened', made.execution_id],
    );
    assert.deepEqual([seen.inputs_may_be_incomplete, seen.input_notes], [false, []]);
    const unseen = await record(`import subprocess; subprocess.run(["cat", "${path}"])`);
    assert.deepEqual([unseen.known_inputs, unseen.inputs_may_be_incomplete], [[], true]);
    assert.match(unseen.input_notes[0], /other programs opened files too/);
    const killed = await record(`open("${path}").read(); import os; os._exit(0)`);
    assert.match(killed.input_notes[0], /did not report what it opened/);
  });

  it('files that are not there, or there already, run nothing and leave nothing', async () => {
    const one = await upload(server(), 'one.txt', '1');
    const twice = await upload(server(), 'twice.txt', '2');
    const call = async (files: string[]) =>
      (
        await server().call('execute_code', {
          language: 'bash',
          code: 'id',
          working_dir: '/workspace/given',
          files,
        })
      ).code;
    await run(server(), 'bash', 'echo mine > twice.txt', { working_dir: '/workspace/given' });
    assert.equal(await call([one, `file_${'0'.repeat(24)}`]), 'not_found');
    assert.equal(await call([one, twice]), 'already_exists');
    assert.equal(await call([one, one]), 'invalid_input');
    const { stdout } = await run(server(), 'bash', 'ls; cat twice.txt', { working_dir: '/workspace/given' });
    assert.equal(stdout, 'twice.txt\nmine\n');
  });

  it('execute_bash works in /workspace, which lasts, as /artifacts does', async () => {
    await server().call('execute_bash', {
      command: 'pwd > where; echo a > /artifacts/a.txt; touch /tmp/gone',
    });
    const { data } = await server().call('execute_bash', {
      command: 'cat where /artifacts/a.txt; ls /tmp; ls -d /tools /skills; touch /tools/x',
    });
    assert.equal(data.stdout, '/workspace\na\n/skills\n/tools\n');
    assert.match(data.stderr, /Read-only file system/);
    const { data: late } = await server().call('execute_bash', { command: 'sleep 300', timeout: 1 });
    assert.equal(late.end_reason, 'timeout');
    recordProof('A11:workspace-persists', 'A11:timeout-of-execute-bash');
  });

  it('neither the data of the server nor its processes are there', async () => {
    const { data } = server();
    const code = `import os\nprint(os.path.exists(${JSON.stringify(data)}), os.path.exists("/root"), len([p for p in os.listdir("/proc") if p.isdigit()]))`;
    assert.equal((await run(server(), 'python', code)).stdout, 'False False 2\n');
    recordProof('D15:no-data-of-the-server');
  });
});
