/** An issuer made of oidc-provider, an MCP server that wants its tokens, and a browser for the people who sign in. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { EmbeddedJWK, type JWTPayload, jwtVerify } from 'jose'
import Provider from 'oidc-provider'

/** Settings of an {@link Issuer}. */
export interface IssuerOptions {
  /** Seconds. Default 3,600. */
  readonly tokenLife?: number
  /** False: it registers no clients. Default true. */
  readonly registers?: boolean
  readonly clients?: readonly object[]
  /** Scopes of access tokens that are JWT. Default: `read write`, with opaque tokens. */
  readonly jwtScopes?: string
  /** Seconds for which a code to enter on another device is valid. Default 600. */
  readonly codeLife?: number
}

/** One request that an MCP server got. */
export interface SeenCall {
  readonly method: string
  readonly authorization: string | undefined
}

/** An issuer, and the resources for which it gives tokens. */
export class Issuer {
  readonly url: string
  readonly #server: Server
  readonly provider: Provider
  /** Grant types that the token endpoint was asked for, in order. */
  readonly grants: string[] = []
  /** While true every request to the token endpoint is answered with 503. */
  down = false
  /** Requests that were answered so. */
  refused = 0
  /** Tokens, access and refresh, that the token endpoint gave. */
  readonly given: string[] = []
  /** Tokens that it was asked to take back, and while true it answers that with 503. */
  readonly taken: string[] = []
  takesNone = false
  /** It answers such requests after that. */
  beforeTaking: Promise<void> | undefined
  refusals = 0
  /** Runs when tokens are made and before they are sent. */
  beforeAnswer: (() => Promise<void>) | undefined

  private constructor(
    server: Server,
    url: string,
    { tokenLife = 3_600, registers = true, clients = [], jwtScopes, codeLife = 600 }: IssuerOptions,
  ) {
    this.#server = server
    this.url = url
    this.provider = new Provider(url, {
      clients: [...clients] as never,
      scopes: ['openid', 'offline_access', 'read', 'write', ...(jwtScopes?.split(' ') ?? [])],
      ttl: {
        AccessToken: tokenLife,
        DeviceCode: codeLife,
        Grant: 86_400,
        Interaction: 600,
        RefreshToken: 86_400,
        Session: 86_400,
        IdToken: 600,
      },
      rotateRefreshToken: true,
      pkce: { required: () => true },
      clientBasedCORS: () => false,
      features: {
        registration: { enabled: registers },
        revocation: { enabled: true },
        dPoP: { enabled: true },
        devInteractions: { enabled: true },
        deviceFlow: { enabled: true },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          useGrantedResource: () => true,
          getResourceServerInfo: () => ({
            scope: jwtScopes ?? 'read write',
            accessTokenFormat: jwtScopes === undefined ? 'opaque' : 'jwt',
            accessTokenTTL: tokenLife,
          }),
        },
      },
    })
    this.provider.use(async (context, next) => {
      if (context.path === '/token/revocation') {
        if (this.takesNone) {
          this.refusals += 1
          context.status = 503
          context.body = 'down'
          return undefined
        }
        await this.beforeTaking
        await next()
        this.taken.push(String(context.oidc?.params?.token ?? '?'))
        return undefined
      }
      if (context.path !== '/token') return next()
      if (this.down) {
        this.refused += 1
        context.status = 503
        context.body = 'down'
        return undefined
      }
      await next()
      this.grants.push(String(context.oidc?.params?.grant_type ?? '?'))
      const body = context.body as Readonly<Record<string, unknown>>
      for (const token of [body.access_token, body.refresh_token]) if (typeof token === 'string') this.given.push(token)
      await this.beforeAnswer?.()
    })
    server.on('request', this.provider.callback())
  }

  static async start(options: IssuerOptions = {}): Promise<Issuer> {
    const server = createServer()
    const url = await listening(server)
    return new Issuer(server, url, options)
  }

  /** The name with which the person of a token signed in; undefined for a token that is not valid. */
  async accountOf(token: string): Promise<string | undefined> {
    const found = await this.provider.AccessToken.find(token)
    return found?.isValid ? found.accountId : undefined
  }

  async stop(): Promise<void> {
    await stopped(this.#server)
  }
}

/** An MCP server of one tool, `whoami`, a prompt and a resource, that wants tokens of an issuer. */
export class GuardedServer {
  readonly url: string
  readonly calls: SeenCall[] = []
  /** Tokens that it refuses though they are valid. */
  readonly refused = new Set<string>()
  /** Accounts by tokens that it takes besides those of its issuer. */
  readonly known = new Map<string, string>()
  /** The scope that `whoami` wants beyond what the token has. */
  wants: string | undefined
  /** It takes tokens alone that are bound to a key, with a proof of it that has the nonce of the day. */
  bound: { nonce: string; proofs: JWTPayload[] } | undefined
  /** Another address of it, in front of which something listens: its resource then has that. */
  front: string | undefined
  /** True: it takes all but calls without a token. */
  isOpen = false
  /** Replaces its metadata. */
  metadata: object | undefined
  /** Names of the tools and prompts that an account gets; `whoami` and `greet` where it names none. */
  readonly tools = new Map<string, readonly string[]>()
  readonly prompts = new Map<string, readonly string[]>()
  /** Members that the tools of an account have besides. */
  readonly definitions = new Map<string, object>()
  /** Open event streams, by account. */
  readonly #streams = new Map<string, Set<ServerResponse>>()
  readonly #server: Server
  readonly #issuer: Issuer

  private constructor(server: Server, origin: string, issuer: Issuer) {
    this.#server = server
    this.#issuer = issuer
    this.url = `${origin}/mcp`
    server.on('request', (request, response) => {
      void this.#answer(request).then(({ status, headers = {}, body, streamOf }) => {
        if (streamOf !== undefined) return this.#stream(streamOf, response)
        response.writeHead(status, { 'content-type': 'application/json', ...headers })
        response.end(body === undefined ? undefined : JSON.stringify(body))
      })
    })
  }

  static async start(issuer: Issuer): Promise<GuardedServer> {
    const server = createServer()
    return new GuardedServer(server, await listening(server), issuer)
  }

  /** Tells the clients of an account that its list of tools is another one; false while none of them listens. */
  toolsChanged(account: string): boolean {
    const streams = this.#streams.get(account) ?? new Set()
    const notice = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
    for (const stream of streams) stream.write(`data: ${notice}\n\n`)
    return streams.size > 0
  }

  async stop(): Promise<void> {
    await stopped(this.#server)
  }

  #toolOf(name: string, account = ''): object {
    return { name, inputSchema: { type: 'object' }, ...this.definitions.get(account) }
  }

  #stream(account: string, response: ServerResponse): void {
    const open = this.#streams.get(account) ?? new Set()
    this.#streams.set(account, open.add(response))
    response.on('close', () => open.delete(response))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': open\n\n')
  }

  /** The refusal of a request without a token that is bound to a key, or without a fresh proof of that. */
  async #unproven({ headers, method }: IncomingMessage, { nonce, proofs }: NonNullable<GuardedServer['bound']>) {
    const refused = (error: string) => ({
      status: 401,
      headers: { 'www-authenticate': `DPoP error="${error}", scope="read"`, 'dpop-nonce': nonce },
    })
    const [, token = ''] = /^DPoP (.+)$/.exec(headers.authorization ?? '') ?? []
    const proof = headers.dpop
    if (token === '' || typeof proof !== 'string') return refused('invalid_token')
    const claims = await proven(proof)
    const ath = createHash('sha256').update(token).digest('base64url')
    if (claims.htm !== method || claims.htu !== this.url || claims.ath !== ath) return refused('invalid_dpop_proof')
    if (Math.abs(Date.now() / 1_000 - (claims.iat ?? 0)) > 60) return refused('invalid_dpop_proof')
    if (claims.nonce !== nonce) return refused('use_dpop_nonce')
    proofs.push(claims)
    return undefined
  }

  async #accountOf(token: string): Promise<string | undefined> {
    return this.known.get(token) ?? (await this.#issuer.accountOf(token))
  }

  async #answer(
    request: IncomingMessage,
  ): Promise<{ status: number; headers?: Record<string, string>; body?: object; streamOf?: string }> {
    const path = request.url ?? ''
    const resource = this.front ?? this.url
    const { origin } = new URL(resource)
    if (path.startsWith('/.well-known/oauth-protected-resource')) {
      const usual = { resource, authorization_servers: [this.#issuer.url], scopes_supported: ['read'] }
      return { status: 200, body: this.metadata ?? usual }
    }
    if (path.startsWith('/.well-known/')) return { status: 404 }
    if (this.bound) {
      const refusal = await this.#unproven(request, this.bound)
      if (refusal) return refusal
    }
    const token = request.headers.authorization?.replace(/^(?:Bearer|DPoP) /, '')
    const account = token === undefined || this.refused.has(token) ? undefined : await this.#accountOf(token)
    const message = request.method === 'POST' ? (JSON.parse(await bodyOf(request)) as Message) : undefined
    if (account === undefined && !(this.isOpen && message && message.method !== 'tools/call')) {
      const named = `${origin}/.well-known/oauth-protected-resource/mcp`
      return { status: 401, headers: { 'www-authenticate': `Bearer resource_metadata="${named}", scope="read"` } }
    }
    if (request.method === 'GET' && account !== undefined && this.tools.has(account))
      return { status: 200, streamOf: account }
    if (!message) return { status: 405 }
    this.calls.push({ method: message.method, authorization: request.headers.authorization })
    if (message.id === undefined) return { status: 202 }
    if (message.method === 'tools/call' && this.wants !== undefined) {
      const challenge = `Bearer error="insufficient_scope", scope="${this.wants}"`
      return { status: 403, headers: { 'www-authenticate': challenge } }
    }
    const results: Readonly<Record<string, object>> = {
      initialize: {
        ...{
          protocolVersion: '2025-11-25',
          capabilities: { tools: { listChanged: true }, prompts: {}, resources: {} },
        },
        serverInfo: { name: 'guarded', version: '1' },
      },
      'tools/list': { tools: (this.tools.get(account ?? '') ?? ['whoami']).map(name => this.#toolOf(name, account)) },
      'prompts/list': { prompts: (this.prompts.get(account ?? '') ?? ['greet']).map(name => ({ name })) },
      'prompts/get': { messages: [{ role: 'user', content: { type: 'text', text: account } }] },
      'resources/list': { resources: [{ uri: 'guarded://who', name: 'who' }] },
      'resources/templates/list': { resourceTemplates: [] },
      'resources/read': { contents: [{ uri: 'guarded://who', text: account }] },
      'tools/call': { content: [{ type: 'text', text: account }] },
      ping: {},
    }
    const result = results[message.method]
    const error = { code: -32601, message: 'no such method' }
    return { status: 200, body: { jsonrpc: '2.0', id: message.id, ...(result ? { result } : { error }) } }
  }
}

interface Message {
  readonly id?: number
  readonly method: string
}

/** The claims of a proof, whose signature is by the key that it names. */
async function proven(proof: string): Promise<JWTPayload> {
  const { payload } = await jwtVerify(proof, EmbeddedJWK, { typ: 'dpop+jwt', algorithms: ['ES256'] })
  return payload
}

/** Signs in as a person at an issuer of oidc-provider, and returns the address at which the browser would come back. */
export async function signInAt(authorizeUrl: string, person: string): Promise<string> {
  const back = new URL(authorizeUrl).searchParams.get('redirect_uri') ?? ''
  const { url } = await walk(authorizeUrl, person, { isEnd: at => at.startsWith(back) })
  return url
}

/** Enters a code as a person at the page of such an issuer, and agrees; `aborts`: and refuses. Returns the last page. */
export async function enterCode(page: string, code: string, person: string, aborts = false): Promise<string> {
  return (await walk(page, person, { code, aborts })).text
}

interface Walk {
  isEnd?(url: string): boolean
  readonly code?: string
  readonly aborts?: boolean
}

/** Goes from page to page of an issuer as a browser does, and fills in its forms. */
async function walk(start: string, person: string, { isEnd, code, aborts }: Walk) {
  const cookies = new Map<string, string>()
  let url = start
  let form: URLSearchParams | undefined
  for (let step = 0; step < 14; step += 1) {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form ? { method: 'POST', body: form } : {}),
    })
    form = undefined
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = ''] = cookie.split(';')
      const at = pair.indexOf('=')
      if (pair.slice(at + 1) === '') cookies.delete(pair.slice(0, at))
      else cookies.set(pair.slice(0, at), pair.slice(at + 1))
    }
    const location = response.headers.get('location')
    if (location !== null) {
      url = new URL(location, url).href
      if (isEnd?.(url)) return { url, text: '' }
      continue
    }
    const text = await response.text()
    const xsrf = /name="xsrf" value="(\w+)"/.exec(text)?.[1]
    const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1]
    if (code !== undefined && xsrf !== undefined && !text.includes('incorrect') && !text.includes('interrupted'))
      form = new URLSearchParams({ xsrf, user_code: code, ...confirmation(text, aborts) })
    else if (prompt !== undefined)
      form = new URLSearchParams({ prompt, ...(prompt === 'login' ? { login: person, password: 'any' } : {}) })
    else if (code !== undefined) return { url, text }
    else throw new Error(`The issuer answered ${response.status}: ${text.slice(0, 800)}`)
    const action = /<form[^>]* action="([^"]+)"/.exec(text)?.[1]
    if (xsrf !== undefined && action !== undefined) url = new URL(action, url).href
  }
  throw new Error('The issuer leads in circles')
}

function confirmation(page: string, aborts = false): Record<string, string> {
  if (!page.includes('name="confirm"')) return {}
  return aborts ? { abort: 'yes' } : { confirm: 'yes' }
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function stopped(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise<void>(resolve => server.close(() => resolve()))
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
