import { createHash, randomBytes } from 'node:crypto'
import type { Client } from './client.ts'

/** The parts of an OAuth provider that official clients of both generations call. */
export class MemoryProvider {
  readonly redirectUrl: string
  /** Opens an address as the browser of the user does. Returns the address at which the answer goes to the client. */
  readonly browse: (url: URL) => Promise<string>
  readonly clientMetadata: {
    client_name: string
    redirect_uris: string[]
    grant_types: string[]
    response_types: string[]
    token_endpoint_auth_method: string
  }
  // biome-ignore lint/suspicious/noExplicitAny: each generation of clients keeps what its own type says
  kept: Record<string, any> = {}
  /** Addresses to which the client has sent its user. */
  readonly visited: URL[] = []
  /** The answer that came back to the client. */
  answer: URLSearchParams | undefined

  /** `person` agrees as `decision` says, by REST as the console's page does; or it is the browser itself. */
  constructor(
    person: Client | MemoryProvider['browse'],
    decision: object = {},
    redirectUrl = 'http://127.0.0.1:33418/callback',
  ) {
    this.browse = typeof person === 'function' ? person : url => consent(person, url, decision)
    this.redirectUrl = redirectUrl
    this.clientMetadata = {
      client_name: 'Test client',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    }
  }

  clientInformation = () => this.kept.client
  saveClientInformation = (value: unknown) => this.#keep('client', value)
  tokens = () => this.kept.tokens
  saveTokens = (value: unknown) => this.#keep('tokens', value)
  saveCodeVerifier = (value: string) => this.#keep('verifier', value)
  codeVerifier = () => this.kept.verifier
  saveDiscoveryState = (value: unknown) => this.#keep('discovery', value)
  discoveryState = () => this.kept.discovery

  redirectToAuthorization = async (url: URL): Promise<void> => {
    this.visited.push(url)
    this.answer = new URL(await this.browse(url)).searchParams
  }

  #keep(name: string, value: unknown): void {
    this.kept[name] = value
  }
}

/** Opens an address of `/authorize` as a browser does, and decides as a signed-in person. Returns where the answer goes. */
export async function consent(person: Client, url: URL | string, decision: object = {}): Promise<string> {
  const request = await requestAt(url)
  const { redirect } = await person.ok('POST', '/api/oauth/decisions', { request, allow: true, ...decision })
  return redirect
}

/** The request in the address of the page to which `/authorize` leads. */
export async function requestAt(url: URL | string): Promise<string> {
  const answer = await fetch(url, { redirect: 'manual' })
  const location = answer.headers.get('location') ?? ''
  await answer.body?.cancel()
  if (answer.status !== 302) throw new Error(`/authorize answered ${answer.status}`)
  return new URL(location).searchParams.get('request') as string
}

/** A client of the raw endpoints, for requests that no library sends. */
export class RawOAuth {
  readonly base: string
  readonly verifier = randomBytes(32).toString('base64url')
  readonly redirectUri: string
  clientId = ''
  secret: string | undefined

  constructor(base: string, redirectUri = 'http://127.0.0.1:33418/callback') {
    this.base = base
    this.redirectUri = redirectUri
  }

  async register(more: object = {}): Promise<this> {
    const body = { client_name: 'Raw', redirect_uris: [this.redirectUri], token_endpoint_auth_method: 'none', ...more }
    let answer = await this.#json('/register', body)
    while (answer.status === 429) {
      await Bun.sleep(1_000 * Number(answer.headers.get('retry-after')))
      answer = await this.#json('/register', body)
    }
    if (answer.status !== 201) throw new Error(`/register answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    this.clientId = answer.body.client_id as string
    this.secret = answer.body.client_secret as string | undefined
    return this
  }

  async #json(path: string, body: unknown) {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(this.base + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> }
  }

  registration(body: unknown) {
    return this.#json('/register', body)
  }

  /** The address of `/authorize`. A parameter that is undefined is left out. */
  url(path: string, change: Readonly<Record<string, string | undefined>> = {}): URL {
    const url = new URL(`${this.base}/authorize`)
    const parameters = {
      ...{ response_type: 'code', client_id: this.clientId, redirect_uri: this.redirectUri, state: 'of-the-client' },
      code_challenge: createHash('sha256').update(this.verifier).digest('base64url'),
      ...{ code_challenge_method: 'S256', resource: `${this.base}${path}`, ...change },
    }
    for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value)
    return url
  }

  /** A code, with the consent of a person. */
  async code(
    person: Client,
    path: string,
    decision: object = {},
    change: Record<string, string> = {},
  ): Promise<string> {
    const redirect = await consent(person, this.url(path, change), decision)
    return new URL(redirect).searchParams.get('code') as string
  }

  async form(path: string, fields: Readonly<Record<string, string | undefined>>, headers: Record<string, string> = {}) {
    const body = new URLSearchParams()
    for (const [name, value] of Object.entries(fields)) if (value !== undefined) body.append(name, value)
    const answer = await fetch(this.base + path, { method: 'POST', headers, body })
    const text = await answer.text()
    // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
    return { status: answer.status, headers: answer.headers, body: (text === '' ? {} : JSON.parse(text)) as any }
  }

  redeem(code: string, change: Readonly<Record<string, string | undefined>> = {}) {
    return this.form('/token', {
      ...{ grant_type: 'authorization_code', code, client_id: this.clientId, redirect_uri: this.redirectUri },
      ...{ code_verifier: this.verifier, client_secret: this.secret, ...change },
    })
  }

  refresh(token: string, change: Readonly<Record<string, string | undefined>> = {}) {
    const own = { client_id: this.clientId, client_secret: this.secret }
    return this.form('/token', { grant_type: 'refresh_token', refresh_token: token, ...own, ...change })
  }

  /** Tokens for a path, with the consent of a person. */
  async tokens(person: Client, path: string, decision: object = {}, change: Record<string, string> = {}) {
    const answer = await this.redeem(await this.code(person, path, decision, change))
    if (answer.status !== 200) throw new Error(`/token answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    return answer.body as { access_token: string; refresh_token: string; scope: string; expires_in: number }
  }
}
