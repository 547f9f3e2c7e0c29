/** Every outcome of the tools for skills and the documentation of tools. */
import { writeFiles, type Stage } from './stage.testing.ts';

const manifest = (name: string, description: string): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\nDo it well.\n`;

const python = `"""Counts.

More on it.
"""
def count(text):
    """Counts words.

    In any text.
    """
class Counter:
    """Keeps a count."""
    def add(self, word):
        "Adds one."
`;

export async function showSkills({ call, refuse, operator }: Stage): Promise<void> {
  const many = Array.from({ length: 120 }, (_, at) => `/** Number ${at}. */\nexport function f${at}() {}\n`);
  await writeFiles(operator, {
    'skills/mine/SKILL.md': manifest('mine', 'Of our own'),
    'skills/mine/picture.png': Buffer.from([0x89, 0x50, 0, 1]),
    'skills/mine/long.md': 'a line\n'.repeat(10_000),
    'skills/write-report/SKILL.md': manifest('write-report', 'Instead of the other'),
    'skills/broken/SKILL.md': 'nothing',
    'tools/count.py': python,
    'tools/many.js': many.join(''),
    'tools/typed.ts': '/** Adds. */\nexport const add = (a: number) => a;\n',
    'tools/broken.py': 'def broken(:\n',
  });
  await call('list_skills', {});
  await call('read_skill', { name: 'mine' });
  await call('read_skill', { name: 'mine', file: 'picture.png' });
  await call('read_skill', { name: 'mine', file: 'long.md' });
  await call('read_skill', { name: 'write-report' });
  await call('read_skill', { name: 'analyse-data' });
  await call('read_docstring', { file: '/tools/count.py' });
  await call('read_docstring', { file: 'count.py', function: 'Counter.add' });
  await call('read_docstring', { file: 'many.js' });
  await call('read_docstring', { file: 'typed.ts' });
  await call('read_docstring', { file: 'broken.py' });
  await refuse('list_skills', { all: true });
  await refuse('read_skill', { name: 'none' });
  await refuse('read_skill', { name: 'broken' });
  await refuse('read_skill', { name: 'mine', file: '../x' });
  await refuse('read_docstring', { file: '../x.py' });
  await refuse('read_docstring', { file: 'count.py', function: 'none' });
}
