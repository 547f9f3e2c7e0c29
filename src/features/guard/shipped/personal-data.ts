import type { RuleSource } from '../rule.ts';

const remedy =
  'Work with it without printing it: count it, hash it, or print only the columns that you need.';

/** What names or reaches a person, in what a tool answers. It finds forms, not people: a name is not found. */
export const personalDataInOutput: readonly RuleSource[] = [
  {
    id: 'email-address',
    when: 'after',
    match: {
      output: String.raw`(?<![\w.%+-])[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])`,
    },
    action: 'redact',
    reason: 'It has e-mail addresses in it.',
    remedy,
    examples: ['ada@example.org', 'From: Ada Byron <ada.byron+news@mail.example.co.uk>', 'ada＠example.org'],
    counterexamples: ['git@github', 'package@1.2.3', '@decorator', 'a @ b', 'user@localhost'],
  },
  {
    id: 'card-number',
    when: 'after',
    match: {
      output: String.raw`(?<![\w.-])(?:4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|3[47]\d{2}|6011|65\d{2})[ -]?(?:\d{4}[ -]?\d{4}[ -]?\d{4}|\d{6}[ -]?\d{5})(?![\w.-]?\d)`,
      check: 'luhn',
    },
    action: 'redact',
    reason: 'It has numbers of payment cards in it.',
    remedy,
    examples: ['4111 1111 1111 1111', 'card: 5555555555554444', '3782 822463 10005'],
    counterexamples: [
      '4111 1111 1111 1112',
      '0.4111111111111111',
      '1700000000000000',
      'exec_4111111111111111',
    ],
  },
  {
    id: 'bank-account',
    when: 'after',
    match: {
      output: String.raw`(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])`,
      check: 'iban',
    },
    action: 'redact',
    reason: 'It has numbers of bank accounts (IBAN) in it.',
    remedy,
    examples: ['DE89 3704 0044 0532 0130 00', 'GB82WEST12345698765432'],
    counterexamples: ['DE89 3704 0044 0532 0130 01', 'AB12 CDEF GHIJ', 'SHA256'],
  },
  {
    id: 'phone-number',
    when: 'after',
    match: {
      output: String.raw`(?<![\w.+-])\+[1-9]\d{0,2}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]\d{2,4}){2,4}(?![\d.])`,
    },
    action: 'redact',
    reason: 'It has telephone numbers in it.',
    remedy,
    examples: ['+49 30 1234 5678', '+1 (212) 555-01-99', 'tel: +44 20 7946 0958'],
    counterexamples: ['+12.5', '1 + 2 + 3', '+0.123 45', 'a+1 2'],
  },
  {
    id: 'us-social-security',
    when: 'after',
    match: { output: String.raw`(?<![\w-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])` },
    action: 'redact',
    reason: 'It has numbers of the US social security in it.',
    remedy,
    examples: ['SSN 123-45-6789'],
    counterexamples: ['000-12-3456', '2026-01-3112', '123-45-67890'],
  },
];
