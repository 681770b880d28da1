/** A provider of sign-ins made of oidc-provider, one that answers as GitHub does, and a browser for the people. */
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import type { Client } from '../../support/client.ts'
import type { Hub } from '../../support/hub.ts'
import { sendAnew } from './app.ts'

/** An issuer of OpenID Connect, whose people have the name with which they sign in. */
export class OidcIssuer {
  readonly url: string
  /** While true every request is answered with 503. */
  down = false
  /** Further claims of everybody, in the ID token and in the userinfo. */
  readonly more: { id_token: object; userinfo: object } = { id_token: {}, userinfo: {} }
  readonly #server: Server

  private constructor(server: Server, url: string, redirectUri: string) {
    this.#server = server
    this.url = url
    const client = { client_id: 'hub', client_secret: 'secret-of-the-hub-1', redirect_uris: [redirectUri] }
    const provider = new Provider(url, {
      clients: [client],
      claims: {
        openid: ['sub'],
        profile: ['preferred_username', 'groups', 'realm', '_claim_names'],
        email: ['email', 'email_verified'],
      },
      conformIdTokenClaims: false,
      pkce: { required: () => true },
      features: { devInteractions: { enabled: true } },
      findAccount: (_context: unknown, accountId: string) => ({
        accountId,
        claims: (use: string) => ({
          ...this.more[use === 'userinfo' ? 'userinfo' : 'id_token'],
          ...{ sub: accountId, preferred_username: `${accountId} of company`, email_verified: accountId !== 'mallory' },
          email: `${accountId}@company.example`,
        }),
      }),
      ttl: { Grant: 600, Interaction: 600, Session: 600, IdToken: 600, AccessToken: 600 },
    })
    provider.use(async (context, next) => {
      if (!this.down) return next()
      context.status = 503
      context.body = 'down'
      return undefined
    })
    server.on('request', provider.callback())
  }

  static async start(redirectUri: string): Promise<OidcIssuer> {
    const server = createServer()
    return new OidcIssuer(server, await listening(server), redirectUri)
  }

  stop(): Promise<void> {
    return stopped(this.#server)
  }
}

/** A person of a {@link GitHubLike}. */
interface Person {
  readonly id: number
  readonly login: string
  readonly emails: readonly object[]
}

/** Answers as GitHub Enterprise does: form, no ID token, errors with HTTP 200. */
export class GitHubLike {
  readonly url: string
  /** The person who signs in next. */
  person: Person = { id: 7, login: 'octo', emails: [{ email: 'octo@hub.example', primary: true, verified: true }] }
  /** Number of requests for a person that wait for each other. */
  together = 1
  #waiting: (() => void)[] = []
  readonly #server: Server
  readonly #challenges = new Map<string, string>()

  private constructor(server: Server, url: string) {
    this.url = url
    this.#server = server
    server.on('request', (request, response) => {
      void this.#answer(request).then(body => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      })
    })
  }

  static async start(): Promise<GitHubLike> {
    const server = createServer()
    return new GitHubLike(server, await listening(server))
  }

  stop(): Promise<void> {
    return stopped(this.#server)
  }

  /** The address to which a person comes back who agrees. */
  agree(authorizeUrl: string): string {
    const { searchParams: asked } = new URL(authorizeUrl)
    const code = randomBytes(8).toString('hex')
    this.#challenges.set(code, asked.get('code_challenge') as string)
    return `${asked.get('redirect_uri')}?${new URLSearchParams({ code, state: asked.get('state') as string })}`
  }

  /** Resolves when as many requests are there as wait for each other. */
  #others(): Promise<void> {
    return new Promise(resolve => {
      this.#waiting.push(resolve)
      if (this.#waiting.length < this.together) return
      for (const go of this.#waiting.splice(0)) go()
    })
  }

  async #answer(request: IncomingMessage): Promise<object> {
    const { url, headers } = request
    const chunks: Buffer[] = await Array.fromAsync(request)
    const body = new URLSearchParams(Buffer.concat(chunks).toString())
    if (url === '/login/oauth/access_token') {
      const challenge = createHash('sha256')
        .update(String(body.get('code_verifier')))
        .digest('base64url')
      const code = String(body.get('code'))
      const isRight = this.#challenges.get(code) === challenge && body.get('client_secret') === 'hush'
      this.#challenges.delete(code)
      return isRight ? { access_token: 'gho_1', token_type: 'bearer' } : { error: 'bad_verification_code' }
    }
    if (headers.authorization !== 'Bearer gho_1') return { message: 'Bad credentials' }
    if (url === '/api/v3/user') return { id: this.person.id, login: this.person.login, email: 'shown@hub.example' }
    if (url !== '/api/v3/user/emails') return {}
    await this.#others()
    return this.person.emails
  }
}

/** A browser that has begun to sign in. */
export interface Begun {
  readonly url: string
  readonly key: string
}

/** Begins to sign in at a provider, or to link an account as a person who is signed in. */
export async function begin(hub: Hub, provider: string, person?: Client, more: object = {}): Promise<Begun> {
  const key = randomBytes(32).toString('base64url')
  const body = { keyHash: createHash('sha256').update(key).digest('base64url'), ...more }
  const path = `/api/auth/providers/${provider}/start`
  const answer = person ? await person.request('POST', path, { ...body, link: true }) : await sendAnew(hub, path, body)
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.text}`)
  return { url: answer.json.url, key }
}

/** Signs in as a person at an issuer of oidc-provider. Returns the address to which the browser comes back. */
export async function signInAt(authorizeUrl: string, person: string): Promise<string> {
  const cookies = new Map<string, string>()
  const back = new URL(authorizeUrl).searchParams.get('redirect_uri') as string
  let url = authorizeUrl
  let form: URLSearchParams | undefined
  for (let step = 0; step < 12; step += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, {
      ...{ redirect: 'manual', headers: { cookie } },
      ...(form ? { method: 'POST', body: form } : {}),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    form = undefined
    const location = response.headers.get('location')
    if (location !== null) {
      url = new URL(location, url).href
      if (url.startsWith(back)) return url
      continue
    }
    const prompt = /name="prompt" value="(\w+)"/.exec(await response.text())?.[1]
    if (prompt === undefined) throw new Error(`The issuer answered ${response.status} at ${url}`)
    form = new URLSearchParams({ prompt, ...(prompt === 'login' ? { login: person, password: 'any' } : {}) })
  }
  throw new Error('The issuer leads in circles')
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function stopped(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise<void>(resolve => server.close(() => resolve()))
}
