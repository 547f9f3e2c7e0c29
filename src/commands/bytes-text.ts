const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];

/** A size for people, in units of 1024, as settings take them. */
export function formatBytes(count: number): string {
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10));
  const value = count / 1024 ** step;
  return `${value < 100 && step > 0 ? value.toFixed(1) : Math.round(value)} ${units[step]}`;
}
