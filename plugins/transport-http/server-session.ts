import type { GuardedResponse } from 'patchbay/contract'
import { readErrorBody } from './answers.ts'

const PING = '{"jsonrpc":"2.0","id":"session-check","method":"ping"}'
/** Errors of a server that has parsed the request, and so has the session: it rejects the method or its params. */
const READ: readonly (number | undefined)[] = [-32_601, -32_602]

/** The session that the server created, if any. */
export class ServerSession {
  readonly #post: (body: string) => Promise<GuardedResponse>
  #id: string | undefined
  #asking: Promise<boolean> | undefined

  /** `post` sends a request within the session. */
  constructor(post: (body: string) => Promise<GuardedResponse>) {
    this.#post = post
  }

  get given(): boolean {
    return this.#id !== undefined
  }

  /** False: the id is not visible ASCII and cannot be used. */
  learn(id: string): boolean {
    if (id.length > 1024 || !/^[\x21-\x7e]+$/.test(id)) return false
    this.#id = id
    return true
  }

  /**
   * True when the server still has the session. The specification requires HTTP 404 for an unknown one, but many servers send
   * 400, which may have other reasons. A ping has none of these reasons: if it gets 400 too, the session is lost. One ping at a
   * time, shared by all callers. True also without a response.
   */
  known(): Promise<boolean> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #ask(): Promise<boolean> {
    try {
      const response = await this.#post(PING)
      if (response.status === 400) return READ.includes(readErrorBody(await response.text(), undefined)?.code)
      response.cancel()
      return response.status !== 404
    } catch {
      return true
    }
  }
}
