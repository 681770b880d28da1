import type { RouteAnswer } from 'patchbay/contract'
import type { ProvenRequest } from './client-proof.ts'
import { OAuthError } from './errors.ts'
import { isSafe } from './site.ts'
import { WindowCounts } from './throttle.ts'

/** Failures in a minute, of one grant and of one address, after which requests are refused. */
const MOST_FAILURES = { grant: 20, address: 300 }

/** A request with a form, as a route gets it. */
export type RawRequest = Pick<ProvenRequest, 'headers' | 'baseUrl'> & {
  readonly bytes: Uint8Array
  readonly addressKey: string
}

/** Answers a request with a form. */
export type Handler = (request: ProvenRequest) => Promise<RouteAnswer>

/** Reads the forms of `/token` and `/revoke`, writes their errors, and limits failures. */
export class FormGate {
  readonly #failures = new WindowCounts(60_000)
  readonly #grantSent: (form: ReadonlyMap<string, string>) => Promise<string | undefined>
  readonly #isLocal: () => boolean

  /** `grantSent`: the grant of the code or token in a form. */
  constructor(grantSent: (form: ReadonlyMap<string, string>) => Promise<string | undefined>, isLocal: () => boolean) {
    this.#grantSent = grantSent
    this.#isLocal = isLocal
  }

  async run({ bytes, headers, baseUrl, addressKey }: RawRequest, handle: Handler): Promise<RouteAnswer> {
    const counted = [{ key: `address ${addressKey}`, most: MOST_FAILURES.address }]
    try {
      if (!isSafe(baseUrl, this.#isLocal())) throw new OAuthError('access_denied', 'Sign-in needs https here', 403)
      const form = formOf(bytes, headers['content-type'] ?? '')
      const grantId = await this.#grantSent(form)
      if (grantId !== undefined) counted.push({ key: `grant ${grantId}`, most: MOST_FAILURES.grant })
      const full = counted.find(({ key, most }) => this.#failures.of(key) >= most)
      if (full) return tooMany(this.#failures.secondsLeft(full.key))
      return await handle({ form, headers, baseUrl })
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error
      for (const { key } of counted) this.#failures.add(key)
      return error.answer
    }
  }
}

function tooMany(seconds: number): RouteAnswer {
  return new OAuthError('rate_limited', 'Too many requests have failed', 429, { 'retry-after': String(seconds) }).answer
}

/** Throws `invalid_request` for a body that is no form, or has a parameter twice. */
function formOf(bytes: Uint8Array, type: string): ReadonlyMap<string, string> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(type))
    throw new OAuthError('invalid_request', 'The body is not of the type application/x-www-form-urlencoded')
  const form = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(new TextDecoder().decode(bytes))) {
    if (form.has(name)) throw new OAuthError('invalid_request', `The parameter "${name.slice(0, 64)}" is there twice`)
    if (value !== '') form.set(name, value)
  }
  return form
}
