/**
 * Remembers what `make` gave for each text, the oldest forgotten first beyond `limit`. SQL stands in the
 * code and so is the same few texts over and over; the limit is for code that builds its SQL.
 */
export function remembered<T>(limit: number, make: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const made = make(text);
    if (known.size >= limit) known.delete(known.keys().next().value!);
    known.set(text, made);
    return made;
  };
}
