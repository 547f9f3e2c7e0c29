/** The issuer cannot be asked, so that no token of it can be judged. Whoever sent one is not at fault. */
export class IssuerDown extends Error {
  override readonly name = 'IssuerDown';
}

const timeoutMs = 5000;
const mostBytes = 1024 ** 2;
/** For so long after a failure nothing is asked again: callers would only queue up behind the same timeout. */
const pauseMs = 3000;

/** Fetches JSON of an issuer within bounds of time and size. Null where there is nothing at that address. */
export async function fetchJson(url: string): Promise<unknown> {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    // A redirect could lead to an address that the operator has not named.
    const answer = await fetch(url, { redirect: 'error', signal, headers: { Accept: 'application/json' } });
    const text = await boundedText(answer, url);
    if (answer.status >= 400 && answer.status < 500) return null;
    if (answer.status !== 200) throw new IssuerDown(`${url} answered ${answer.status}.`);
    return JSON.parse(text) as unknown;
  } catch (cause) {
    if (cause instanceof IssuerDown) throw cause;
    throw new IssuerDown(`${url} could not be read: ${reasonOf(cause)}.`, { cause });
  }
}

async function boundedText({ body }: Response, url: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > mostBytes) throw new IssuerDown(`${url} answered with more than ${mostBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** `fetch failed` says nothing; its cause does. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error ? cause.message || String((cause as { code?: unknown }).code) : error.message;
}

/** Repeats a failure for a moment in place of asking again. */
export function afterPauses<T>(ask: () => Promise<T>): () => Promise<T> {
  let failed: { error: IssuerDown; until: number } | null = null;
  return async () => {
    if (failed !== null && performance.now() < failed.until) throw failed.error;
    try {
      return await ask();
    } catch (error) {
      if (error instanceof IssuerDown) failed = { error, until: performance.now() + pauseMs };
      throw error;
    }
  };
}
