/** Code shared by plugins that communicate with other machines, as `patchbay/transport-kit`. */

/** Version of this kit, independent of the contract's; raised only when existing plugins would break. */
export const TRANSPORT_KIT = 1

export * from './cut-text.ts'
export * from './definition.ts'
export * from './drain-on-disconnect.ts'
export * from './event-stream.ts'
export * from './json-batches.ts'
export * from './long-message.ts'
export * from './normal-form.ts'
export * from './openapi-document.ts'
export * from './openapi-text.ts'
export * from './parse-url.ts'
export * from './readable-name.ts'
export * from './redirects.ts'
export * from './remote.ts'
export * from './sequence-map.ts'
export * from './shared-cache.ts'
export * from './shared-queue.ts'
export * from './sse-parser.ts'
export * from './text-ends.ts'
export * from './tls.ts'
export * from './wire-error.ts'
