/** Resolves at the first SIGINT or SIGTERM. A second one ends the process at once. */
export async function stopSignal(): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      process.once(signal, () => process.exit(1));
      resolve(signal);
    });
  return promise;
}
