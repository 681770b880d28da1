/** Answers of issuers, and what somebody could make of them: tokens that sign nobody in, and addresses that are not verified. */
import { beforeAll, expect, test } from 'bun:test'
import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { type GuardedFetch, HubError } from '../../../core/contract/mod.ts'
import type { ProviderConfig } from '../../../plugins/sign-in/config.ts'
import { OidcProvider } from '../../../plugins/sign-in/providers/oidc.ts'

const SECRET = 'secret-of-the-hub-1-of-32-bytes-or-more'
type Keys = Awaited<ReturnType<typeof generateKeyPair>>
let keys: Keys
let others: Keys

beforeAll(async () => {
  ;[keys, others] = (await Promise.all([1, 2].map(() => generateKeyPair('RS256', { extractable: true })))) as [
    Keys,
    Keys,
  ]
})

const fail = (code: string, message: string, cause?: unknown) => new HubError(code as never, message, { cause })

/** An issuer behind the hub's HTTP client. */
class Issuer {
  readonly asked: string[] = []
  readonly #url: string
  readonly #metadata: object
  token = ''

  constructor(url: string, metadata: object = {}) {
    this.#url = url
    this.#metadata = metadata
  }

  readonly fetch = (async (url: string) => {
    this.asked.push(url)
    const body = await this.#answer(url)
    return { status: 200, headers: { 'content-type': 'application/json' }, text: async () => JSON.stringify(body) }
  }) as unknown as GuardedFetch

  async #answer(url: string): Promise<object> {
    if (url.endsWith('/jwks')) return { keys: [{ ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'RS256' }] }
    if (url.endsWith('/token')) return { access_token: 'a', token_type: 'bearer', id_token: this.token }
    const endpoints = { authorization_endpoint: 'authorize', token_endpoint: 'token', jwks_uri: 'jwks' }
    const own = Object.entries(endpoints).map(([name, path]) => [name, `${this.#url}/${path}`])
    return { issuer: this.#url, ...Object.fromEntries(own), ...this.#metadata }
  }

  provider(): OidcProvider {
    const config = { id: 'x', kind: 'oidc', label: 'X', issuer: this.#url, clientId: 'hub', clientSecret: SECRET }
    return new OidcProvider({ ...config, provision: 'off' } as ProviderConfig, this.fetch, fail)
  }
}

const ISSUER = 'https://login.example'
const asked = { state: 's', nonce: 'n', verifier: 'v'.repeat(43), redirectUri: 'https://hub.example/signin/callback' }
const now = () => Math.floor(Date.now() / 1_000)
const claims = (more: Readonly<Record<string, unknown>> = {}) =>
  ({ iss: ISSUER, aud: 'hub', sub: 'ada', nonce: 'n', iat: now(), exp: now() + 300, ...more }) as JWTPayload
const signed = (payload: JWTPayload, key: Parameters<SignJWT['sign']>[0] = keys.privateKey, alg = 'RS256') =>
  new SignJWT(payload).setProtectedHeader({ alg, kid: 'one' }).sign(key)

/** The account that a token stands for, or the code of the refusal. */
async function identify(token: string, issuer: Issuer): Promise<unknown> {
  issuer.token = token
  const parameters = new URLSearchParams({ code: 'c', state: 's' })
  return issuer
    .provider()
    .identify(parameters, asked)
    .catch(({ code }: HubError) => code)
}

test('only a token that the issuer signed for this hub and this sign-in names a person', async () => {
  const of = async (token: string | Promise<string>) => identify(await token, new Issuer(ISSUER))
  const ada = { issuer: ISSUER, subject: 'ada', name: 'user', email: undefined }
  expect(await of(signed(claims()))).toEqual(ada)
  // Clocks differ by less than a minute.
  expect(await of(signed(claims({ exp: now() - 30 })))).toEqual(ada)
  const text = new TextEncoder()
  const wrong: Record<string, string | Promise<string>> = {
    'without a signature': new UnsecuredJWT(claims()).encode(),
    'signed with the secret of the client': signed(claims(), text.encode(SECRET), 'HS256'),
    'signed with the public key as a secret': signed(claims(), text.encode(await exportSPKI(keys.publicKey)), 'HS256'),
    'of another key': signed(claims(), others.privateKey),
    'for another client': signed(claims({ aud: 'other' })),
    'for two clients': signed(claims({ aud: ['other', 'hub'], azp: 'other' })),
    'of another issuer': signed(claims({ iss: 'https://other.example' })),
    'of another sign-in': signed(claims({ nonce: 'm' })),
    'of no sign-in': signed(claims({ nonce: undefined })),
    'too old': signed(claims({ iat: now() - 400, exp: now() - 100 })),
    'without an end': signed(claims({ exp: undefined })),
    'without a person': signed(claims({ sub: undefined })),
    'not one': 'x.y.z',
  }
  const answers = await Promise.all(Object.entries(wrong).map(async ([what, token]) => [what, await of(token)]))
  expect(answers).toEqual(Object.keys(wrong).map(what => [what, 'provider_refused']))
  const none = new Issuer(ISSUER, { id_token_signing_alg_values_supported: ['none', 'HS256'] })
  for (const token of [new UnsecuredJWT(claims()).encode(), await signed(claims(), text.encode(SECRET), 'HS256')])
    expect(await identify(token, none)).toBe('provider_refused')
})

test('the metadata of an issuer elsewhere leads to no address of this machine', async () => {
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'])
    for (const address of [
      'http://127.0.0.1:9/token',
      'https://localhost/token',
      'https://[::1]/token',
      'http://a.example/x',
    ]) {
      const issuer = new Issuer(ISSUER, { [name]: address })
      expect([name, address, await identify(await signed(claims()), issuer)]).toEqual([
        name,
        address,
        'provider_refused',
      ])
      expect(issuer.asked).toEqual([`${ISSUER}/.well-known/openid-configuration`])
    }
})

test('an address counts when the issuer has verified it, and at Google when its domain is one of Google', async () => {
  const emailOf = async (url: string, more: Readonly<Record<string, unknown>>) => {
    const account = await identify(await signed(claims({ iss: url, ...more })), new Issuer(url))
    return (account as { email?: string }).email
  }
  const email = 'ada@company.example'
  expect(await emailOf(ISSUER, { email, email_verified: true })).toBe(email)
  for (const verified of [false, 'true', 1, undefined])
    expect(await emailOf(ISSUER, { email, email_verified: verified })).toBeUndefined()
  const google = 'https://accounts.google.com'
  // Anybody makes such an account at Google with an address that was once theirs.
  expect(await emailOf(google, { email, email_verified: true })).toBeUndefined()
  expect(await emailOf(google, { email, email_verified: true, hd: 'company.example' })).toBe(email)
  expect(await emailOf(google, { email: 'ada@gmail.com', email_verified: true })).toBe('ada@gmail.com')
})
