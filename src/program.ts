/**
 * How messages name the program. `npx workcrate` works in a checkout after `npm ci`, in a folder that has the package
 * installed, and where it is installed for the whole machine; `workcrate` alone works only in the last.
 */
export const programName = 'npx workcrate';
