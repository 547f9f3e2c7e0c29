/** What is shorter is parsed as it is: it cannot hold enough to keep the server busy. */
export const smallMessage = 32 * 1024;

/**
 * Each key, list and object costs some microseconds wherever a message is checked, so that 400,000 of them in one request
 * stopped the server for two seconds. A list of ids is cheap, and as long as a bundle may be.
 */
const mostNodes = 5000;
const mostValues = 110_000;
const mostDepth = 64;

const [quote, comma, colon] = [0x22, 0x2c, 0x3a];
const opens = (code: number): boolean => code === 0x5b || code === 0x7b;
const closes = (code: number): boolean => code === 0x5d || code === 0x7d;

/** Says which bound a message of JSON breaks, before it is parsed; null where none. What is no JSON is not judged. */
export function findBrokenBound(text: string): string | null {
  let [nodes, values, depth] = [0, 0, 0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === comma) values++;
    else if (code === colon) nodes++;
    else if (closes(code)) depth--;
    else if (opens(code)) {
      nodes++;
      depth++;
    } else continue;
    if (nodes > mostNodes) return `it has more than ${mostNodes} keys, lists and objects`;
    if (values > mostValues) return `it has more than ${mostValues} values`;
    if (depth > mostDepth) return `it is nested more than ${mostDepth} levels deep`;
  }
  return null;
}

export const tooComplex = (bound: string): string =>
  `This message is refused: ${bound}. Send large data as a file (request_upload) and use its file_id.`;

/** Where the string that begins there ends; at the end of the text where it does not. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1))
    if (!isEscaped(text, end)) return end;
  return text.length;
}

/** Whether an odd number of backslashes is before it. */
function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === 0x5c) before--;
  return (at - before) % 2 === 0;
}
