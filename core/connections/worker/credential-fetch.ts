import type { GuardedFetch, GuardedRequest, GuardedResponse } from '../../contract/fetch.ts'
import type { CredentialChallenge } from '../../features/credentials.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import { fromWireError } from '../../transport-kit/wire-error.ts'
import type { CarriedHeaders } from '../protocol.ts'
import { RequestProof } from './request-proof.ts'

/** Longest part of a challenge that is read, in characters. */
const CHALLENGE = 8_192
const NONCE = /\berror\s*=\s*"?use_dpop_nonce\b/i
const WRONG_PROOF = /\berror\s*=\s*"?invalid_dpop_proof\b/i
/** Differences of clocks, in seconds, at which a proof is made again with the server's time. */
const LEAST_SKEW = 30
const MOST_SKEW = 86_400
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
  #proof: RequestProof | undefined
  /** The value that the server wants in proofs. */
  #nonce: string | undefined
  /** Seconds by which the server's clock is ahead, where it refused a proof for that. */
  #skew = 0
  /** The question about the headers of one version that is in progress. */
  #asking: (Asked & { readonly version: number }) | undefined

  constructor(url: unknown, carried: CarriedHeaders, events: CredentialFetchEvents) {
    this.#origin = typeof url === 'string' ? URL.parse(url)?.origin : undefined
    this.#carried = carried
    this.#proof = proofOf(carried)
    this.#events = events
    events.secrets(carried.secrets)
  }

  /** Main has other headers, or the answer to a question. */
  take({ carried, error, answers }: Answer & { readonly answers: boolean }): void {
    if (carried) {
      this.#events.secrets(carried.secrets)
      this.#carried = carried
      this.#proof = proofOf(carried)
    }
    if (!answers) return
    this.#asking?.resolve({ ...(carried ? { carried } : {}), ...(error ? { error } : {}) })
    this.#asking = undefined
  }

  around(fetch: GuardedFetch): GuardedFetch {
    return async (url, request) => {
      if (URL.parse(url)?.origin !== this.#origin) return fetch(url, request)
      const { version } = this.#carried
      const response = await this.#send(fetch, url, request)
      if (!isRefusal(response)) return response
      const { carried, error } = await this.#ask(version, challengeOf(url, response))
      if (!error && !carried) return response
      response.cancel()
      if (error) throw fromWireError(error)
      const again = await this.#send(fetch, url, request)
      if (!isRefusal(again) || !carried) return again
      // Refused with the new headers too: the source says what becomes of it, and nothing is sent a third time.
      const last = await this.#ask(carried.version, challengeOf(url, again))
      if (!last.error) return again
      again.cancel()
      throw fromWireError(last.error)
    }
  }

  /** Sends it with the headers of now, and again where the server wants another nonce or time in the proof, once for each. */
  async #send(fetch: GuardedFetch, url: string, request: GuardedRequest): Promise<GuardedResponse> {
    const proof = this.#proof
    let response = await fetch(url, await this.#with(url, request))
    for (let times = 0; proof && times < 2 && this.#wantsOther(response); times += 1) {
      response.cancel()
      response = await fetch(url, await this.#with(url, request))
    }
    return response
  }

  /** True when the server wants another proof than that of this answer, which can be made now. */
  #wantsOther(response: GuardedResponse): boolean {
    const { status, headers } = response
    const nonce = headers['dpop-nonce']
    if (nonce !== undefined) this.#nonce = nonce
    const challenge = (headers['www-authenticate'] ?? '').slice(0, CHALLENGE)
    if (status !== 401) return false
    if (NONCE.test(challenge)) return nonce !== undefined
    const skew = Math.round((Date.parse(headers.date ?? '') - Date.now()) / 1_000)
    const isOff = Math.abs(skew) <= MOST_SKEW && Math.abs(skew - this.#skew) >= LEAST_SKEW
    if (!WRONG_PROOF.test(challenge) || !isOff) return false
    this.#skew = skew
    return true
  }

  async #with(url: string, request: GuardedRequest): Promise<GuardedRequest> {
    const { headers } = this.#carried
    if (Object.keys(headers).length === 0) return request
    const carried = { ...request, headers: { ...request.headers, ...headers } }
    if (!this.#proof) return carried
    const token = headers.authorization?.replace(/^\S+ +/, '') ?? ''
    const dpop = await this.#proof.sign({ method: request.method, url, token, nonce: this.#nonce, skew: this.#skew })
    return { ...carried, headers: { ...carried.headers, dpop } }
  }

  async #ask(version: number, challenge: CredentialChallenge): Promise<Answer> {
    if (this.#carried.version > version) return { carried: this.#carried }
    // Nothing may come between the end of the wait and the new question: two questions at once would lose one answer.
    while (this.#asking) {
      if (this.#asking.version === version) return this.#asking.promise
      await this.#asking.promise
    }
    if (this.#carried.version > version) return { carried: this.#carried }
    const { promise, resolve } = Promise.withResolvers<Answer>()
    this.#asking = { promise, resolve, version }
    this.#events.refused({ version, challenge })
    return promise
  }
}

function proofOf({ proofKey }: CarriedHeaders): RequestProof | undefined {
  return proofKey && new RequestProof(proofKey)
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
