import type { RuleSource } from '../rule.ts';

/** Code and calls that go after keys and passwords. Paths and hosts are found in code and in arguments. */
export const credentials: readonly RuleSource[] = [
  {
    id: 'ssh-keys',
    when: 'before',
    match: {
      path: ['**/.ssh/**', '**/ssh_host_*_key'],
      except: ['**/*.pub', '**/.ssh/known_hosts', '**/.ssh'],
    },
    action: 'block',
    reason: 'It reads keys of SSH.',
    remedy: 'Ask the person for what you need; a key is never needed here.',
    examples: [
      'cat ~/.ssh/id_rsa',
      "open('/home/ada/.ssh/id_ed25519').read()",
      'cat $HOME/.ssh/config',
      { arguments: { path: '/root/.ssh/id_rsa' } },
    ],
    counterexamples: [
      'cat ~/.ssh/id_rsa.pub',
      'mkdir -p ~/.ssh',
      'cat notes-about-ssh.txt',
      { arguments: { path: 'docs/ssh.md' } },
    ],
  },
  {
    id: 'stored-credentials',
    when: 'before',
    match: {
      path: [
        '**/.aws/credentials',
        '**/.aws/config',
        '**/.config/gcloud/**',
        '**/.azure/**',
        '**/.kube/config',
        '**/.docker/config.json',
        '**/.netrc',
        '**/.npmrc',
        '**/.pypirc',
        '**/.git-credentials',
        '**/.pgpass',
        '**/.gnupg/**',
        '**/.config/gh/hosts.yml',
        '**/logins.json',
        '**/key4.db',
      ],
    },
    action: 'block',
    reason: 'It reads credentials that a program has stored.',
    remedy: 'Ask the operator to give runs the access by --network-secrets, which shows it to nobody.',
    examples: [
      'cat ~/.aws/credentials',
      "print(open(home + '/.npmrc').read())",
      'cp /home/ada/.docker/config.json .',
      { arguments: { path: '/home/ada/.netrc' } },
    ],
    counterexamples: [
      'aws s3 ls s3://bucket',
      'cat package.json',
      { arguments: { path: '/srv/project/config.json' } },
    ],
  },
  {
    id: 'system-passwords',
    when: 'before',
    match: {
      path: [
        '/etc/shadow',
        '/etc/shadow-',
        '/etc/gshadow',
        '/etc/sudoers',
        '/etc/sudoers.d/**',
        '/etc/security/opasswd',
      ],
    },
    action: 'block',
    reason: 'It reads the passwords or the rights of this machine.',
    remedy: 'Leave that out.',
    examples: ['cat /etc/shadow', "open('/tmp/../etc/shadow')", 'cat "/etc/sha""dow"'],
    counterexamples: ['cat /etc/hosts', 'cat /etc/os-release', 'ls /workspace/etc/shadows'],
  },
  {
    id: 'environment-of-processes',
    when: 'before',
    match: { path: ['/proc/*/environ', '/proc/*/mem', '/proc/kcore', '/dev/mem'] },
    action: 'block',
    reason: 'It reads the environment or the memory of processes, which may hold keys.',
    remedy: 'Read the one variable that you need, by its name.',
    examples: ['cat /proc/self/environ', "open('/proc/1/mem', 'rb')"],
    counterexamples: ['cat /proc/meminfo', "os.environ['HOME']", 'cat /proc/self/status'],
  },
  {
    id: 'cloud-metadata',
    when: 'before',
    match: {
      any: [
        {
          host: [
            '169.254.169.254',
            '169.254.170.2',
            '100.100.100.200',
            'metadata.google.internal',
            '*fd00:ec2::254*',
          ],
        },
        { code: String.raw`(?<!\d)169\.254\.169\.254(?!\d)` },
        { code: String.raw`\b(?:2852039166|0xa9fea9fe|0xA9FEA9FE)\b` },
      ],
    },
    action: 'block',
    reason: 'It asks the cloud for the credentials of this machine.',
    remedy: 'Ask the operator to give runs the access by --network-secrets.',
    examples: [
      'curl http://169.254.169.254/latest/meta-data/',
      "requests.get('http://metadata.google.internal/computeMetadata/v1/')",
      'curl http://2852039166/latest/',
      { arguments: { url: 'http://169.254.169.254/latest' } },
    ],
    counterexamples: ['curl https://example.org/169', "requests.get('https://data.example.org/metadata')"],
  },
  {
    id: 'key-in-code',
    when: 'before',
    match: {
      any: [
        { code: String.raw`-----BEGIN (?:[A-Z]{1,12} ){0,3}PRIVATE KEY-----` },
        { code: String.raw`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b` },
        { code: String.raw`\bgh[pousr]_[A-Za-z0-9]{36,255}\b` },
      ],
    },
    action: 'record',
    reason: 'The code has a key in it.',
    remedy: 'Keep keys out of code; the operator can add them by --network-secrets.',
    examples: ["key = 'AKIAIOSFODNN7EXAMPLE'", '-----BEGIN RSA PRIVATE KEY-----\nMIIE'],
    counterexamples: ['# ask for an access key', 'AKIA = 1'],
  },
];
