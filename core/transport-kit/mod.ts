/** What transports share, as `patchbay/transport-kit`. */

/** Grows only when a plugin written for the last number would break. Apart from the number of `patchbay/contract`. */
export const TRANSPORT_KIT = 1

export * from './drain-on-disconnect.ts'
export * from './event-stream.ts'
export * from './long-message.ts'
export * from './openapi-document.ts'
export * from './readable-name.ts'
export * from './redirects.ts'
export * from './remote.ts'
export * from './sequence-map.ts'
export * from './sse-parser.ts'
export * from './text-ends.ts'
export * from './wire-error.ts'
