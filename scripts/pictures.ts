/**
 * Takes the pictures of docs/pictures from the real page: `node scripts/pictures.ts`. A server of its own gets a day's
 * work by its tools, and Chromium (Debian: chromium) looks at it. Run it when a view has changed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { startProgram, type Program } from '../bench/program.ts';
import { noBrowser, openBrowser } from '../test/behaviour/pages/browser.testing.ts';

if (noBrowser !== false) throw new Error(noBrowser);
const pictures = join(import.meta.dirname, '../docs/pictures');
const data = mkdtempSync(join(tmpdir(), 'workcrate-pictures-'));

const walks = `import random
import matplotlib.pyplot as plt

random.seed(7)
for _ in range(40):
    x, steps = 0, [0]
    for _ in range(300):
        x += random.choice((-1, 1))
        steps.append(x)
    plt.plot(steps, alpha=0.5, linewidth=1)
plt.title('Forty random walks')
plt.savefig('/artifacts/walks.svg')
print('40 walks of 300 steps')
`;

const lengths = `import csv

rows = [(year, round(9.4 - 0.061 * (year - 1990) + 0.2 * ((year * 7) % 5 - 2), 2)) for year in range(1990, 2026)]
with open('/artifacts/lengths.csv', 'w', newline='') as file:
    csv.writer(file).writerows([('year', 'kilometres'), *rows])
print(len(rows), 'years')
`;

const trend = `import csv
import statistics

with open('/artifacts/lengths.csv') as file:
    rows = [(int(row['year']), float(row['kilometres'])) for row in csv.DictReader(file)]
slope, start = statistics.linear_regression(*zip(*rows))
with open('/artifacts/trend.txt', 'w') as file:
    file.write(f'{slope * 1000:.0f} metres a year\\n')
print(f'{slope * 1000:.0f} metres a year')
`;

interface Scene {
  readonly name: string;
  readonly path: string;
  readonly height: number;
  readonly prepare?: (page: Page) => Promise<void>;
}

try {
  await using program = await startProgram({ data });
  const scenes = await makeScenes(program);
  await using browser = await openBrowser();
  for (const { name, path, height, prepare } of scenes) {
    const { page } = await browser.open({ viewport: { width: 1040, height }, colorScheme: 'light' });
    await page.goto(program.url + path);
    await prepare?.(page);
    await page.screenshot({ path: join(pictures, `${name}.png`) });
    console.log(`docs/pictures/${name}.png`);
  }
} finally {
  rmSync(data, { recursive: true, force: true });
}

/** A day's work: runs that ended well and badly, one that goes on, a session, a crate and a link. */
async function makeScenes(program: Program): Promise<Scene[]> {
  const run = async (language: string, code: string, more: Record<string, unknown> = {}): Promise<string> =>
    (await program.call('execute_code', { language, code, ...more })).data['execution_id']!;
  await run('bash', 'ls -la /artifacts');
  await run(
    'node',
    'const mean = (values) => values.reduce((a, b) => a + b) / values.length;\nmean([3, 1, 4, 1, 5])',
  );
  await run('python', "import json\njson.loads('{')");
  const steps = [await run('python', lengths), await run('python', trend)];
  for (const code of ['import statistics', 'walk = [0, 1, 2, 1, 2, 3]', 'statistics.mean(walk)'])
    await run('python', code, { session_id: 'walks' });
  const walksRun = await run('python', walks);
  await run(
    'python',
    'import time\nfor step in range(600):\n    print("step", step, flush=True)\n    time.sleep(1)',
    {
      background: true,
    },
  );
  const { data: packed } = await program.call('pack_crate', {
    execution_ids: steps,
    title: 'Lengths of a glacier',
    description: 'The measurements of 36 years, and their trend.',
    authors: [{ name: 'Ada Byron' }],
    keywords: ['glaciers', 'trend'],
  });
  const { data: link } = await program.call('get_artifact', { name: 'walks.svg' });
  return [
    { name: 'page-runs', path: '/', height: 760 },
    { name: 'page-run', path: `/runs/${walksRun}`, height: 1000 },
    { name: 'page-crate', path: `/crates/${packed['crate_id']}`, height: 900 },
    { name: 'page-link', path: new URL(link['downloadUrl']!).pathname, height: 780 },
    { name: 'page-operate', path: '/operate', height: 512 },
  ];
}
