import type { CredentialChallenge } from '../../contract/credential-points.ts'
import type { WireError } from '../../contract/errors.ts'
import type { GuardedFetch, GuardedRequest, GuardedResponse } from '../../contract/fetch.ts'
import { fromWireError } from '../../transport-kit/wire-error.ts'
import type { CarriedHeaders } from '../protocol.ts'

/** Longest part of a challenge that is read, in characters. */
const CHALLENGE = 8_192
const INSUFFICIENT = /\berror\s*=\s*"?insufficient_scope\b/i

type Answer = { readonly carried?: CarriedHeaders; readonly error?: WireError }
type Asked = { readonly promise: Promise<Answer>; readonly resolve: (answer: Answer) => void }

/** Callbacks of a `CredentialFetch`. */
export interface CredentialFetchEvents {
  /** Asks main; `take` gets the answer. */
  refused(refusal: { readonly version: number; readonly challenge: CredentialChallenge }): void
  /** Texts to redact from now on. */
  secrets(texts: readonly string[]): void
}

/**
 * Adds the headers that main gave a connection to requests to the origin of its server, and to no others. After a refusal
 * it asks main for other headers, once for each version however many requests were refused, and sends the request again.
 */
export class CredentialFetch {
  readonly #origin: string | undefined
  readonly #events: CredentialFetchEvents
  #carried: CarriedHeaders
  /** The question about the headers of one version that is in progress. */
  #asking: (Asked & { readonly version: number }) | undefined

  constructor(url: unknown, carried: CarriedHeaders, events: CredentialFetchEvents) {
    this.#origin = typeof url === 'string' ? URL.parse(url)?.origin : undefined
    this.#carried = carried
    this.#events = events
    events.secrets(carried.secrets)
  }

  /** Main has other headers, or the answer to a question. */
  take({ carried, error, answers }: Answer & { readonly answers: boolean }): void {
    if (carried) {
      this.#events.secrets(carried.secrets)
      this.#carried = carried
    }
    if (!answers) return
    this.#asking?.resolve({ ...(carried ? { carried } : {}), ...(error ? { error } : {}) })
    this.#asking = undefined
  }

  around(fetch: GuardedFetch): GuardedFetch {
    return async (url, request) => {
      if (URL.parse(url)?.origin !== this.#origin) return fetch(url, request)
      const { version } = this.#carried
      const response = await fetch(url, this.#with(request))
      if (!isRefusal(response)) return response
      const { carried, error } = await this.#ask(version, challengeOf(url, response))
      if (!error && !carried) return response
      response.cancel()
      if (error) throw fromWireError(error)
      const again = await fetch(url, this.#with(request))
      if (!isRefusal(again) || !carried) return again
      // Refused with the new headers too: the source says what becomes of it, and nothing is sent a third time.
      const last = await this.#ask(carried.version, challengeOf(url, again))
      if (!last.error) return again
      again.cancel()
      throw fromWireError(last.error)
    }
  }

  #with(request: GuardedRequest): GuardedRequest {
    const { headers } = this.#carried
    return Object.keys(headers).length === 0 ? request : { ...request, headers: { ...request.headers, ...headers } }
  }

  async #ask(version: number, challenge: CredentialChallenge): Promise<Answer> {
    if (this.#carried.version > version) return { carried: this.#carried }
    if (this.#asking?.version === version) return this.#asking.promise
    await this.#asking?.promise
    if (this.#carried.version > version) return { carried: this.#carried }
    const { promise, resolve } = Promise.withResolvers<Answer>()
    this.#asking = { promise, resolve, version }
    this.#events.refused({ version, challenge })
    return promise
  }
}

function isRefusal({ status, headers }: GuardedResponse): boolean {
  return (
    status === 401 || (status === 403 && INSUFFICIENT.test((headers['www-authenticate'] ?? '').slice(0, CHALLENGE)))
  )
}

function challengeOf(url: string, { status, headers }: GuardedResponse): CredentialChallenge {
  const header = headers['www-authenticate']?.slice(0, CHALLENGE)
  return { status: status === 403 ? 403 : 401, url, ...(header === undefined ? {} : { header }) }
}
