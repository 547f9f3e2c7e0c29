import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { testPlaces } from '../places.testing.ts';
import { contractOptions } from '../sandbox.contract.ts';
import type { Sandbox } from '../sandbox.ts';
import { bubblewrapSandbox } from './bubblewrap.ts';
import { collectText } from '../../../platform/streams.ts';

/** Python does not end here as it does by itself (decision 015); none of these may show that. */
const programs: Record<string, { code: string; out: string; err?: RegExp; exit?: number }> = {
  'a file that was never closed is whole': {
    code: 'f = open("/tmp/x", "w")\nf.write("kept")\nimport atexit, os\nclass Late:\n    def __del__(self): print("deleted")\nlate = Late()\nprint("end")',
    out: 'end\ndeleted\n',
  },
  'what atexit holds is called, the last first, before anything is taken down': {
    code: 'import atexit\nx = "here"\natexit.register(lambda: print("first", x))\natexit.register(lambda: print("last", x))',
    out: 'last here\nfirst here\n',
  },
  'threads are waited for': {
    code: 'import threading, time\ndef late():\n    time.sleep(0.2)\n    print("late")\nthreading.Thread(target=late).start()\nprint("main")',
    out: 'main\nlate\n',
  },
  'logging, asyncio, futures and much of the library leave nothing on stderr': {
    code: `import argparse, asyncio, collections, concurrent.futures, contextlib, csv, ctypes, dataclasses, datetime, decimal, email, enum, functools, glob, hashlib, html, http.client, inspect, io, itertools, json, logging, multiprocessing, pathlib, pickle, queue, random, re, sqlite3, statistics, string, subprocess, tempfile, threading, typing, unittest, urllib.request, uuid, xml.etree.ElementTree, zipfile
logging.basicConfig(level=logging.INFO, format="%(message)s")
async def main():
    await asyncio.sleep(0)
    return 7
print(asyncio.run(main()))
with concurrent.futures.ThreadPoolExecutor(2) as pool: print(sum(pool.map(lambda x: x, range(5))))
print(subprocess.check_output(["echo", "child"], text=True).strip())`,
    out: '7\n10\nchild\n',
  },
  'processes of multiprocessing work': {
    code: 'import multiprocessing as m\ndef square(x): return x * x\nwith m.Pool(2) as pool: print(pool.map(square, range(4)))',
    out: '[0, 1, 4, 9]\n',
  },
  'an exit code and a message of exit are as ever': {
    code: 'import sys\nsys.exit("no good")',
    out: '',
    err: /^no good\n$/,
    exit: 1,
  },
  'an error in atexit is told': {
    code: 'import atexit\n@atexit.register\ndef bad(): raise ValueError("in atexit")',
    out: '',
    err: /ValueError: in atexit/,
  },
  'a traceback shows the code and nothing else': {
    code: 'def f():\n    raise ValueError("x")\nf()',
    out: '',
    err: /^Traceback \(most recent call last\):\n {2}File "main.py", line 3, in <module>\n {4}f\(\)\n {2}File "main.py", line 2, in f\n {4}raise ValueError\("x"\)\nValueError: x\n$/,
    exit: 1,
  },
  'a hook of one’s own gets the error': {
    code: 'import sys\nsys.excepthook = lambda kind, error, trace: print("hook", kind.__name__, error)\n1 / 0',
    out: 'hook ZeroDivisionError division by zero\n',
    exit: 1,
  },
  'what is not flushed is written': { code: 'import sys\nsys.stdout.write("no newline")', out: 'no newline' },
  'a module of one’s own that holds a file is taken down too': {
    code: 'open("own.py", "w").write(\'f = open("/tmp/held", "w")\\nf.write("held")\\nclass C:\\n    def __del__(self): print("own deleted")\\nc = C()\\n\')\nimport own\nprint("main")',
    out: 'main\nown deleted\n',
  },
};

describe('a Python of bubblewrap ends as any other', () => {
  let places: Awaited<ReturnType<typeof testPlaces>>;
  let sandbox: Sandbox;
  before(async () => {
    places = await testPlaces();
    sandbox = await bubblewrapSandbox({ ...contractOptions, python: null });
  });
  after(async () => {
    await sandbox?.[Symbol.asyncDispose]();
    await places?.[Symbol.asyncDispose]();
  });

  for (const [name, { code, out, err = /^$/, exit = 0 }] of Object.entries(programs))
    it(name, async () => {
      const run = await sandbox.start({
        id: 'exec_000000000001',
        user: 'ann',
        place: await places.place('ann'),
        language: 'python',
        code,
        workingDir: '/workspace',
        stdin: '',
        timeoutMs: 20_000,
        signal: new AbortController().signal,
      });
      const [said, complained, end] = await Promise.all([
        collectText(run.stdout),
        collectText(run.stderr),
        run.ended,
      ]);
      assert.match(complained, err);
      assert.deepEqual([said, end.exitCode], [out, exit]);
    });
});
