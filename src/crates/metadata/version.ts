/** `https://w3id.org/ro/crate/1.1`, `https://w3id.org/ro/crate/1.2-DRAFT/context`, `https://…/ro-crate/1.0/`. */
const versioned = /\/ro[/-]crate\/v?(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?(?:-[A-Za-z0-9.]{1,20})?)(?=[/#?]|\s*$)/;

/** The version of RO-Crate that an address names, or null where it is the address of something else. */
export function versionIn(address: string): string | null {
  return versioned.exec(address.slice(0, 1000))?.[1] ?? null;
}
