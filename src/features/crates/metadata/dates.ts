/** A date as exact as it was given: a year, a month, a day or a time. */
export interface ParsedDate {
  readonly iso: string;
  readonly year: number;
  /** Whether it was given in the form of ISO 8601. */
  readonly isIso: boolean;
}

const isoDatePattern = /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:T(\S+))?)?)?$/;
const clockTimePattern = /^(\d{2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?(Z|[+-]\d{2}(?::?\d{2})?)?$/i;
const monthAbbreviations = [
  'jan',
  'feb',
  'mar',
  'apr',
  'may',
  'jun',
  'jul',
  'aug',
  'sep',
  'oct',
  'nov',
  'dec',
];

/** Longer texts are not dates. */
const maxDateLength = 100;

/** Parses a date in any common form, or gives null. An ambiguous date is read only as far as it is clear. */
export function parseFreeFormDate(given: string): ParsedDate | null {
  const text = given.trim();
  if (text === '' || text.length > maxDateLength) return null;
  const exact = parseIsoDate(text);
  if (exact !== null) return exact === given ? toParsedDate(exact, true) : toParsedDate(exact, false);
  const other =
    parseSpacedDate(text) ??
    parseYearFirstDate(text) ??
    parseYearLastDate(text) ??
    parseNamedMonthDate(text) ??
    parseEpochDate(text);
  return toParsedDate(other ?? parseLoneYear(text), false);
}

function toParsedDate(text: string | null, isIso: boolean): ParsedDate | null {
  return text === null ? null : { iso: text, year: Number(text.slice(0, 4)), isIso };
}

function parseIsoDate(text: string): string | null {
  const [, year, month, day, time] = isoDatePattern.exec(text) ?? [];
  if (year === undefined || (time !== undefined && !isClockTime(time))) return null;
  if (month !== undefined && !isValidDay(Number(year), Number(month), Number(day ?? 1))) return null;
  return text;
}

function isClockTime(text: string): boolean {
  const [, hour, minute, second] = clockTimePattern.exec(text) ?? [];
  return hour !== undefined && Number(hour) < 24 && Number(minute) < 60 && Number(second ?? 0) <= 60;
}

function isValidDay(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(2000, month - 1, day));
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day && month > 0;
}

function formatIsoDay(year: number, month: number, day: number): string | null {
  if (!isValidDay(year, month, day)) return null;
  return `${String(year).padStart(4, '0')}-${padTwoDigits(month)}-${padTwoDigits(day)}`;
}

function padTwoDigits(number: number): string {
  return String(number).padStart(2, '0');
}

/** `2020-06-25 17:03:04.098286`, as Python prints it. */
function parseSpacedDate(text: string): string | null {
  const [, day, time, zone] =
    /^(\d{4}-\d{2}-\d{2})\s+(\S+)(?:\s?(Z|UTC|GMT|[+-]\d{2}:?\d{2}))?$/.exec(text) ?? [];
  if (day === undefined) return null;
  return parseIsoDate(`${day}T${time}${zone === undefined ? '' : zone.replace(/UTC|GMT/, 'Z')}`);
}

/** `2023-5-1`, `2023/05/01`, `2023.5.1`, `20230501`, with or without a time after it. */
function parseYearFirstDate(text: string): string | null {
  const parts = /^(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?![\d])/.exec(text);
  if (parts !== null) return formatIsoDay(Number(parts[1]), Number(parts[3]), Number(parts[4]));
  const [, year, month, day] = /^(\d{4})(\d{2})(\d{2})(?:T\S*)?$/.exec(text) ?? [];
  return year === undefined || Number(year) < 1500
    ? null
    : formatIsoDay(Number(year), Number(month), Number(day));
}

/** `11/27/2023`, `27.11.2023`. With slashes a low day may be a month: then only the year is clear. */
function parseYearLastDate(text: string): string | null {
  const parts = /^(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?!\d)/.exec(text);
  if (parts === null) return null;
  const [first, second, year] = [Number(parts[1]), Number(parts[3]), Number(parts[4])];
  if (parts[2] === '.' || first > 12) return formatIsoDay(year, second, first);
  return second > 12 || first === second ? formatIsoDay(year, first, second) : null;
}

/** `27 November 2023`, `Nov. 27, 2023`, `Mon, 27 Nov 2023 10:00:00 GMT`, `November 2023`. */
function parseNamedMonthDate(text: string): string | null {
  const name = /\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\b/i.exec(text)?.[1];
  const year = parseLoneYear(text);
  if (name === undefined || year === null) return null;
  const month = monthAbbreviations.indexOf(name.toLowerCase()) + 1;
  const day = /(?<![\d:.])(\d{1,2})(?:st|nd|rd|th)?(?![\d:])/i.exec(text)?.[1];
  return day === undefined
    ? `${year}-${padTwoDigits(month)}`
    : formatIsoDay(Number(year), month, Number(day));
}

/** Seconds or milliseconds since 1970, of this century. */
function parseEpochDate(text: string): string | null {
  const [, seconds, milliseconds = '000'] = /^(\d{9,10})(\d{3})?(?:\.\d+)?$/.exec(text) ?? [];
  return seconds === undefined ? null : new Date(Number(seconds + milliseconds)).toISOString();
}

/** The only number that is a year, or the first of a range of years. */
function parseLoneYear(text: string): string | null {
  const years = text.match(/(?<!\d)(?:1[5-9]|20)\d{2}(?!\d)/g) ?? [];
  return years.length === 0 || years.length > 2 ? null : years[0]!;
}
