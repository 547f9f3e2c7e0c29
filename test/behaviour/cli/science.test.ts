import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { findMissingScience } from '../../../src/ports/sandbox/science.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { run, serve, temporaryFolder } from './program.testing.ts';

/** As it is by default. */
const env = { WORKCRATE_SANDBOX: 'bubblewrap', WORKCRATE_PYTHON_PRELOAD: '' };

const analysis = `import sys
print("pandas" in sys.modules, "matplotlib.pyplot" in sys.modules)
import pandas as pd
import matplotlib.pyplot as plt
frame = pd.DataFrame({"year": [2024, 2025], "sales": [3, 4]})
frame.plot(x="year", y="sales")
plt.savefig("/artifacts/sales.svg")
print(frame["sales"].sum())`;

describe('numpy, pandas and matplotlib', { skip: noSandbox || findMissingScience() }, () => {
  it('are told at the start, are loaded before a run starts, and work', async () => {
    await using folder = await temporaryFolder();
    await using program = await serve(['--data', folder.path], { env });
    const { stdout } = program.output;
    assert.match(stdout, /its Python: {4}3\.\d+ with numpy \d\S+, pandas \d\S+, matplotlib \d/);
    assert.match(stdout, /; loaded before a run starts: numpy, pandas, matplotlib\.pyplot$/m);
    await eventually(() => program.output.stderr.includes('"event":"sandbox.preloaded"'));
    const { data, text } = await program.call('execute_code', { language: 'python', code: analysis });
    assert.equal(data.stdout, 'True True\n7\n', text);
    assert.match(JSON.stringify(data), /sales\.svg/);
    const missing = await program.call('execute_code', { language: 'python', code: 'import not_there' });
    assert.match(missing.text, /Python has no not_there here\. Install it: install_packages /);
    const client = new Client({ name: 'science', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${program.url}/mcp`)));
    const { tools } = await client.listTools();
    await client.close();
    const { description } = tools.find(({ name }) => name === 'execute_code')!;
    assert.match(description!, /Python 3\.\d+ with numpy \d\S+, pandas \d\S+, matplotlib \d/);
    recordProof(
      'D19:loaded-before-a-run-starts',
      'D19:described-with-the-tool',
      'D19:missing-module-says-what-to-do',
    );
  });

  it('are told by doctor, with what is loaded', async () => {
    await using folder = await temporaryFolder();
    const quick = ['--port', '0', '--data', folder.path, '--pandoc', '/nonexistent/pandoc'];
    const { stdout } = await run(['doctor', ...quick], { env });
    assert.match(stdout, /^ok {5}runs have Python 3\.\d+ with numpy \d/m);
    assert.match(
      stdout,
      /^ok {5}Python has loaded before a run starts: numpy, pandas, matplotlib\.pyplot \(took \d+ ms\)$/m,
    );
    recordProof('D19:told-to-the-operator');
  });
});
