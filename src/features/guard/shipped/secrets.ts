import type { RuleSource } from '../rule.ts';

/** A text of this form that is nobody's key. */
const repeat = (text: string, count: number): string => text.repeat(count);

const remedy =
  'Work with it without printing it; keys that a run needs are added outside by --network-secrets.';

/** Keys and passwords in what a tool answers. */
export const secretsInOutput: readonly RuleSource[] = [
  {
    id: 'private-key',
    when: 'after',
    match: {
      output: String.raw`-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!-)){0,8000}(?:-----END [^\n-]{1,60}-----)?`,
    },
    action: 'redact',
    reason: 'It has a private key in it.',
    remedy,
    examples: [
      '-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----',
      '-----BEGIN PRIVATE KEY-----\nMII',
    ],
    counterexamples: [
      '-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----',
      '-----BEGIN CERTIFICATE-----',
    ],
  },
  {
    id: 'aws-key',
    when: 'after',
    match: {
      any: [
        { output: String.raw`(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])` },
        { output: String.raw`(?i:aws_?secret_?access_?key)["'\s:=]{1,10}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])` },
      ],
    },
    action: 'redact',
    reason: 'It has a key of AWS in it.',
    remedy,
    examples: [
      'AKIAIOSFODNN7EXAMPLE',
      `aws_secret_access_key = ${repeat('a1B2c', 8)}`,
      'AK\u{200b}IAIOSFODNN7EXAMPLE',
    ],
    counterexamples: ['AKIA', 'AKIAIOSFODNN7EXAMPLEandmore', 'aws_secret_access_key is not set'],
  },
  {
    id: 'token-of-a-service',
    when: 'after',
    match: {
      any: [
        { output: String.raw`(?<!\w)gh[pousr]_[A-Za-z0-9]{36,255}` },
        { output: String.raw`(?<!\w)github_pat_\w{22,255}` },
        { output: String.raw`(?<!\w)glpat-[\w-]{20,100}` },
        { output: String.raw`(?<!\w)xox[abeoprs]-[\w-]{10,250}` },
        { output: String.raw`(?<!\w)AIza[\w-]{35}` },
        { output: String.raw`(?<!\w)[rs]k_live_[A-Za-z0-9]{20,200}` },
        { output: String.raw`(?<![\w-])sk-(?:ant-|proj-|or-)?[A-Za-z0-9][\w-]{19,250}` },
        { output: String.raw`(?<!\w)npm_[A-Za-z0-9]{36}` },
        { output: String.raw`(?<!\w)pypi-[\w-]{50,300}` },
        { output: String.raw`(?<!\w)hf_[A-Za-z0-9]{30,100}` },
        { output: String.raw`(?<!\w)SG\.[\w-]{20,30}\.[\w-]{40,50}` },
        { output: String.raw`AccountKey=[A-Za-z0-9+/]{60,100}={0,2}` },
        { output: String.raw`(?<!\w)wck_[\w-]{43,200}` },
      ],
    },
    action: 'redact',
    reason: 'It has a token of a service in it.',
    remedy,
    examples: [
      `ghp_${repeat('a1B2', 9)}`,
      `export SLACK=xoxb-${repeat('12345-', 4)}`,
      `sk-proj-${repeat('a1B2c', 8)}`,
      `key AIza${repeat('a1B2c', 7)}`,
    ],
    counterexamples: [
      'ghp_short',
      'sk-learn 1.4.0',
      'task-and-more-words-that-are-long',
      'npm_config_registry',
    ],
  },
  {
    id: 'web-token',
    when: 'after',
    match: { output: String.raw`(?<![\w-])eyJ[\w-]{8,2000}\.eyJ[\w-]{8,8000}\.[\w-]{8,2000}` },
    action: 'redact',
    reason: 'It has a signed token (JWT) in it.',
    remedy,
    examples: [`eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.${repeat('a1B2', 8)}`],
    counterexamples: ['eyJ', 'a.b.c', 'eyJhbGciOiJIUzI1NiJ9'],
  },
  {
    id: 'password-in-url',
    when: 'after',
    match: {
      output: String.raw`(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@"'<>]{1,100}:[^\s@/"'<>]{3,100}@(?=[\w.[-])`,
    },
    action: 'redact',
    reason: 'It has a URL with a password in it.',
    remedy,
    examples: ['postgres://ada:hunter2secret@db.example.org/sales', 'https://ada:pa55word@example.org'],
    counterexamples: [
      'https://example.org:8080/a@b',
      'http://localhost:3000',
      'postgres://ada@db.example.org',
    ],
  },
  {
    id: 'assigned-password',
    when: 'after',
    match: {
      output: String.raw`(?<![\w])(?i:password|passwd|api_?key|access_?token|client_?secret)["']?\s{0,3}[:=]\s{0,3}["']?(?=[^\s"',;]{0,60}\d)[^\s"',;(){}<>]{8,100}`,
    },
    action: 'record',
    reason: 'It looks as if a password was printed.',
    remedy,
    examples: ['password: hunter2hunter2', 'API_KEY="abc123def456"'],
    counterexamples: ['password: ****', 'the password is wrong', 'password = get_password()'],
  },
];
