import { HubError } from '../contract/errors.ts'
import { isModern, namesModernVersion } from './era.ts'
import type { LegacyPosts } from './post.ts'
import { checkBodyType, checkPostAccept, readBody } from './request-headers.ts'
import { parseBody } from './rpc.ts'
import type { ScopedRequest } from './scoped-request.ts'
import type { LegacyWire } from './wire-legacy.ts'
import type { ModernWire } from './wire-modern.ts'

/** Both eras at one URL: each request by itself says to which it belongs. */
export class Wires {
  readonly #legacy: LegacyWire
  readonly #legacyPosts: LegacyPosts
  readonly #modern: ModernWire

  constructor(legacy: LegacyWire, legacyPosts: LegacyPosts, modern: ModernWire) {
    this.#legacy = legacy
    this.#legacyPosts = legacyPosts
    this.#modern = modern
  }

  /** Throws HubError for whatever is refused before a message can be answered. */
  handle(scoped: ScopedRequest): Response | Promise<Response> {
    const { request } = scoped
    const { headers } = request
    if (request.method === 'POST') {
      checkPostAccept(headers)
      checkBodyType(headers)
      return readBody(request).then(text => {
        const known = this.#modern.receiveKnown(scoped, text)
        if (known !== undefined) return known
        const value = parseBody(text)
        return isModern(value, headers)
          ? this.#modern.receive(scoped, value, text)
          : this.#legacyPosts.receive(scoped, value)
      })
    }
    if (namesModernVersion(headers))
      throw new HubError('method_not_allowed', `/mcp takes POST alone in this protocol version, not ${request.method}`)
    return this.#legacy.handle(scoped)
  }
}
