/** All that comes out of a run. Each chunk is copied, since its memory is used again. */
export async function bytesOf(output: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const chunk of output) parts.push(Buffer.from(chunk));
  return Buffer.concat(parts);
}

export async function textOf(output: AsyncIterable<Uint8Array>): Promise<string> {
  return (await bytesOf(output)).toString();
}
