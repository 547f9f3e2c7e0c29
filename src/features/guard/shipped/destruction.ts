import type { RuleSource } from '../rule.ts';

/** Folders that nobody deletes as a whole on purpose. */
const systemFolder = String.raw`(?:\/(?:bin|boot|dev|etc|home|lib|opt|root|sbin|srv|usr|var)?|~|\$\{?HOME\}?)\/?\*?`;
const disk = String.raw`\/dev\/(?:sd|hd|vd|xvd|nvme|mmcblk|disk)\w{0,10}`;

/** Code that deletes or overwrites what cannot be brought back. */
export const destruction: readonly RuleSource[] = [
  {
    id: 'delete-system-folder',
    when: 'before',
    match: {
      any: [
        {
          code: String.raw`\brm\s{1,5}(?:-[\w-]{1,30}\s{1,5}){0,5}-\w{0,10}[rR]\w{0,10}\s{1,5}(?:-[\w-]{1,30}\s{1,5}){0,5}["']?${systemFolder}["']?(?=[\s;&|"')]|$)`,
        },
        { code: String.raw`\brm\s[^\n;|&]{0,200}--no-preserve-root` },
        { code: String.raw`\bfind\s{1,5}${systemFolder}\s[^\n;|]{0,200}(?:-delete\b|-exec\s{1,5}rm\b)` },
        {
          code: String.raw`\brmtree\s{0,5}\(\s{0,5}(?:[\w.]{1,40}\(\s{0,5})?["']${systemFolder}["']`,
          languages: ['python'],
        },
        {
          code: String.raw`\brm(?:dir)?(?:Sync)?\s{0,5}\(\s{0,5}["'\x60]${systemFolder}["'\x60]`,
          languages: ['node'],
        },
      ],
    },
    action: 'block',
    reason: 'It would delete a whole system or home folder.',
    remedy: 'Delete only what you made, by its path in /workspace or /artifacts.',
    examples: [
      { language: 'bash', code: 'rm -rf /' },
      { language: 'bash', code: 'sudo rm -fr ~/' },
      { language: 'bash', code: 'rm -r -f "$HOME"' },
      { language: 'bash', code: "r''m -rf /*" },
      { language: 'bash', code: 'find / -name "*" -delete' },
      { language: 'python', code: "import os; os.system('rm -rf /etc')" },
      { language: 'python', code: "import shutil\nshutil.rmtree('/home')" },
      { language: 'node', code: "fs.rmSync('/', { recursive: true })" },
    ],
    counterexamples: [
      { language: 'bash', code: 'rm -rf /workspace/build' },
      { language: 'bash', code: 'rm -rf ./dist node_modules' },
      { language: 'bash', code: 'rm -rf /tmp/cache && ls /' },
      { language: 'bash', code: 'find . -name "*.pyc" -delete' },
      { language: 'python', code: "shutil.rmtree('/workspace/old')" },
      'form -rf /',
    ],
  },
  {
    id: 'overwrite-disk',
    when: 'before',
    match: {
      any: [
        { code: String.raw`\bdd\b[^\n;|]{0,200}\bof=${disk}` },
        { code: String.raw`>\s{0,5}${disk}` },
        {
          code: String.raw`\b(?:mkfs(?:\.\w{1,10})?|wipefs|blkdiscard|fdisk|parted|shred)\s[^\n;|]{0,200}${disk}`,
        },
      ],
    },
    action: 'block',
    reason: 'It would overwrite a disk.',
    remedy: 'Write to a file in /workspace or /artifacts.',
    examples: ['dd if=/dev/zero of=/dev/sda bs=1M', 'mkfs.ext4 /dev/nvme0n1', 'cat image > /dev/sdb'],
    counterexamples: [
      'dd if=/dev/zero of=disk.img bs=1M count=10',
      'echo done > /dev/null',
      'mkfs.ext4 disk.img',
    ],
  },
  {
    id: 'fork-bomb',
    when: 'before',
    match: {
      any: [
        {
          code: String.raw`(?<!\w)(\w{1,20}|:)\s{0,5}\(\s{0,5}\)\s{0,5}\{\s{0,5}\1\s{0,5}\|\s{0,5}\1\s{0,5}&\s{0,5}\}`,
        },
        { code: String.raw`while\s{1,5}(?:True|1)\s{0,5}:\s{0,20}os\.fork\(\)`, languages: ['python'] },
      ],
    },
    action: 'block',
    reason: 'It would start processes without end.',
    remedy: 'Start a number of processes that you choose, and wait for them.',
    examples: [
      { language: 'bash', code: ':(){ :|:& };:' },
      { language: 'bash', code: 'bomb() { bomb | bomb & }; bomb' },
      { language: 'python', code: 'import os\nwhile True:\n    os.fork()' },
    ],
    counterexamples: [
      { language: 'bash', code: 'run() { build | tee log & }; run' },
      { language: 'python', code: 'pid = os.fork()' },
    ],
  },
  {
    id: 'drop-database',
    when: 'before',
    match: {
      any: [
        { code: String.raw`(?i:\bDROP\s{1,5}(?:DATABASE|SCHEMA)\s)` },
        { argument: String.raw`(?i:\bDROP\s{1,5}(?:DATABASE|SCHEMA|TABLE)\s)`, name: 'sql' },
        { argument: String.raw`(?i:\bDROP\s{1,5}(?:DATABASE|SCHEMA|TABLE)\s)`, name: 'query' },
      ],
    },
    action: 'block',
    reason: 'It would drop a database.',
    remedy: 'Ask whoever owns it, or work on a copy.',
    examples: ['psql -c "drop database sales"', { arguments: { sql: 'DROP TABLE melons;' } }],
    counterexamples: [
      'psql -c "select * from sales"',
      { arguments: { query: 'select name from drops' } },
      'df = df.drop(columns=["a"])',
    ],
  },
  {
    id: 'rewrite-shared-history',
    when: 'before',
    match: { code: String.raw`\bgit\s{1,5}push\b[^\n;|&]{0,200}\s(?:--force(?!-with-lease)|-f)\b` },
    action: 'block',
    reason: 'It would overwrite the history of a shared repository.',
    remedy: 'Push without --force, or with --force-with-lease.',
    examples: ['git push --force origin main', 'git push origin main -f'],
    counterexamples: ['git push origin main', 'git push --force-with-lease', 'git push origin fix-force'],
  },
  {
    id: 'stop-machine',
    when: 'before',
    match: {
      any: [
        {
          code: String.raw`^\s{0,20}(?:sudo\s{1,5})?(?:shutdown|reboot|halt|poweroff)(?:\s{1,5}(?:-\w{1,3}|now|\+\d{1,4})){0,3}\s{0,5}(?:$|[;&|])`,
          languages: ['bash'],
        },
        { code: String.raw`\bkill\s{1,5}-(?:9|KILL|SIGKILL)\s{1,5}-1\b` },
        { code: String.raw`\b(?:chmod|chown)\s{1,5}-R\s{1,5}\S{1,40}\s{1,5}\/(?:\s|$)` },
      ],
    },
    action: 'block',
    reason: 'It would stop the machine or take all rights from its files.',
    remedy: 'End only processes that you started, and change only files that you made.',
    examples: [
      { language: 'bash', code: 'sudo shutdown -h now' },
      { language: 'bash', code: 'kill -9 -1' },
      { language: 'bash', code: 'chmod -R 777 /' },
    ],
    counterexamples: [
      { language: 'bash', code: 'kill -9 1234' },
      { language: 'bash', code: 'chmod -R 755 /workspace/site' },
      { language: 'bash', code: 'echo shutdown of the plant > note.txt' },
      { language: 'python', code: 'shutdown()' },
    ],
  },
];
