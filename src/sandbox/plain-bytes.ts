const units = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const;

/** A size as people read it: `1.5 GB`. */
export function plainBytes(bytes: number): string {
  const at = Math.min(
    units.length - 1,
    Math.max(0, Math.floor(Math.log(Math.max(1, bytes)) / Math.log(1024))),
  );
  const amount = bytes / 1024 ** at;
  return `${at === 0 || amount >= 100 ? Math.round(amount) : Number(amount.toFixed(1))} ${units[at]}`;
}
