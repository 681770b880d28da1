/** The modules that a plugin may import, as `patchbay/contract`. */

export * from './errors.ts'
export * from './events.ts'
export * from './fetch.ts'
export * from './json.ts'
export * from './page.ts'
export * from './plugin.ts'
export * from './points.ts'
export * from './records.ts'
