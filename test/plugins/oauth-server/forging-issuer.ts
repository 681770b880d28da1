/** An issuer that signs whatever a test wants, and the accounts of users there. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'

/** A pair of keys of the issuer. */
export interface Pair {
  readonly kid: string
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly publicKey: JWK
}

/** An issuer with keys alone: it has no sign-in, and signs tokens for its test. */
export class ForgingIssuer {
  readonly url: string
  /** Paths of the requests that it got. */
  readonly seen: string[] = []
  /** The keys that it publishes. */
  published: readonly JWK[] = []
  /** Replaces its metadata. */
  metadata: object | undefined
  /** While true it answers with 503. */
  down = false
  readonly #server: Server

  private constructor(server: Server, url: string) {
    this.#server = server
    this.url = url
    server.on('request', ({ url: path = '' }, response) => {
      this.seen.push(path)
      const usual = { issuer: url, jwks_uri: `${url}/keys` }
      const body = path === '/keys' ? { keys: this.published } : (this.metadata ?? usual)
      response.writeHead(this.down ? 503 : 200, { 'content-type': 'application/json' })
      response.end(this.down ? 'down' : JSON.stringify(body))
    })
  }

  static async start(): Promise<ForgingIssuer> {
    const server = createServer()
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    return new ForgingIssuer(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  }

  static async pair(kid: string, alg = 'ES256'): Promise<Pair> {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
    return { kid, alg, privateKey, publicKey: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
  }

  /** Number of readings of its keys. */
  get readings(): number {
    return this.seen.filter(path => path === '/keys').length
  }

  /** A token of a person. Claims that are undefined are left out. */
  sign({ kid, alg, privateKey }: Pair, claims: JWTPayload, header: object = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1_000)
    const usual = { iss: this.url, sub: 'ada-at-work', client_id: 'app', scope: 'mcp:tools', iat: now, exp: now + 600 }
    return new SignJWT({ ...usual, ...claims })
      .setProtectedHeader({ alg, kid, typ: 'at+jwt', ...header })
      .sign(privateKey, { crit: { x: true } })
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise<void>(resolve => this.#server.close(() => resolve()))
  }
}
