/** An issuer that grants everything at once and answers as a test says. */
export class ScriptedIssuer {
  readonly url: string
  /** Requests, as `METHOD /path`. */
  readonly seen: string[] = []
  /** Bodies that its token endpoint got. */
  readonly bodies: URLSearchParams[] = []
  /** Members of its metadata that differ. */
  metadata: object = {}
  /** The answer of the token endpoint. Default: a token. */
  token: () => Response = () => Response.json({ access_token: 'scripted', token_type: 'Bearer', expires_in: 3_600 })
  /** The answer with a code to enter on another device. */
  device: () => Response = () => Response.json(this.deviceCode())
  /** The answer for the metadata, in place of all that. */
  raw: (() => Response) | undefined
  readonly #server: ReturnType<typeof Bun.serve>

  constructor(hostname = '127.0.0.1') {
    this.#server = Bun.serve({ port: 0, hostname, fetch: request => this.#answer(request) })
    this.url = `http://${hostname}:${this.#server.port}`
  }

  async stop(): Promise<void> {
    await this.#server.stop(true)
  }

  /** A code that is valid for ten minutes, with members that differ. */
  deviceCode(members: object = {}): object {
    const usual = { device_code: 'device-code-51c2', user_code: 'WDJB-MJHT', verification_uri: `${this.url}/enter` }
    return { ...usual, expires_in: 600, interval: 1, ...members }
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    this.seen.push(`${request.method} ${pathname}`)
    if (pathname.startsWith('/.well-known/')) return this.raw?.() ?? Response.json(this.#metadata())
    if (pathname === '/register')
      return Response.json({ client_id: `client-of-${this.url}`, client_secret: 'its-secret' }, { status: 201 })
    if (pathname === '/authorize') {
      const back = new URL(searchParams.get('redirect_uri') ?? '')
      back.searchParams.set('code', 'scripted-code-7f3a')
      back.searchParams.set('state', searchParams.get('state') ?? '')
      return new Response(null, { status: 302, headers: { location: back.href } })
    }
    if (pathname === '/device') return this.device()
    if (pathname !== '/token') return new Response('nothing here', { status: 404 })
    this.bodies.push(new URLSearchParams(await request.text()))
    return this.token()
  }

  #metadata(): object {
    return {
      issuer: this.url,
      authorization_endpoint: `${this.url}/authorize`,
      token_endpoint: `${this.url}/token`,
      registration_endpoint: `${this.url}/register`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['client_secret_post'],
      ...this.metadata,
    }
  }
}
