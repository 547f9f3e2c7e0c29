/** Forms of the page without a browser: signing in by a key, and the token that its forms have. */

const form = { 'content-type': 'application/x-www-form-urlencoded' };

export const postForm = (
  url: string,
  fields: Record<string, string>,
  cookie: string | null = null,
): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers: cookie === null ? form : { ...form, cookie },
    body: new URLSearchParams(fields).toString(),
  });

/** The token of the forms on a page, for whoever is signed in. */
export async function readFormToken(url: string, cookie: string | null = null): Promise<string> {
  const page = await (await fetch(url, cookie === null ? {} : { headers: { cookie } })).text();
  const token = /name="token" value="([^"]+)"/.exec(page)?.[1];
  if (token === undefined) throw new Error(`no form at ${url}`);
  return token;
}

/** The pair of the cookie that a browser would send from then on. */
export async function signInByKey(url: string, key: string): Promise<string> {
  const token = await readFormToken(`${url}/sign-in`);
  const answer = await postForm(`${url}/sign-in`, { token, key });
  if (answer.status !== 303) throw new Error(`signing in answered ${answer.status}`);
  return answer.headers.getSetCookie()[0]!.split(';')[0]!;
}
