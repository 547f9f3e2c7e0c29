'use strict';
// Lets a session find packages that were installed after it began. Node looks for /node_modules too, but it remembers for
// ever which packages it did not find there; the folder of each environment has another name.
const { readlinkSync } = require('node:fs');
const { createRequire, registerHooks } = require('node:module');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');

const bareName = /^(?![./#]|node:|[a-z]+:\/\/)/i;
const isMissing = ({ code }) => code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND';

/** A file that there need not be: what it could import is what is current. */
function findCurrent(packages) {
  try {
    return join(packages, 'node', readlinkSync(join(packages, 'node/current')), 'session.js');
  } catch {
    return null;
  }
}

exports.seePackages = (packages) => {
  let isLooking = false;
  const resolveAgain = (name, context, next) => {
    const from = findCurrent(packages);
    if (from === null) return null;
    try {
      isLooking = true;
      if (!context.conditions?.includes('require'))
        return next(name, { ...context, parentURL: pathToFileURL(from).href });
      return { url: pathToFileURL(createRequire(from).resolve(name)).href, shortCircuit: true };
    } catch (error) {
      if (!isMissing(Object(error))) throw error;
      return null;
    } finally {
      isLooking = false;
    }
  };
  registerHooks({
    resolve(name, context, next) {
      try {
        return next(name, context);
      } catch (error) {
        const found =
          !isLooking && isMissing(Object(error)) && bareName.test(name)
            ? resolveAgain(name, context, next)
            : null;
        if (found === null) throw error;
        return found;
      }
    },
  });
};
