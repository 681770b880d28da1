import { createHmac, timingSafeEqual } from 'node:crypto'
import type { PluginSealing } from 'patchbay/features'
import type { ClientMethod } from './tables.ts'

const PREFIX = 'pbc_'
const PURPOSE = 'registered client'
const LONGEST_ID = 2_048
const METHODS: readonly ClientMethod[] = ['none', 'client_secret_post', 'client_secret_basic']

/** A client that has registered itself. */
export interface RegisteredClient {
  readonly name: string
  readonly redirectUris: readonly string[]
  readonly method: ClientMethod
}

/** Registrations that the hub does not store: the id of a client holds what it has registered, sealed. */
export class SealedClients {
  readonly #sealing: Pick<PluginSealing, 'token' | 'openToken' | 'keys'>

  constructor(sealing: Pick<PluginSealing, 'token' | 'openToken' | 'keys'>) {
    this.#sealing = sealing
  }

  /** The id; undefined where it would be too long. */
  seal({ name, redirectUris, method }: RegisteredClient, nowMs: number): string | undefined {
    const text = JSON.stringify([name, redirectUris, METHODS.indexOf(method), Math.floor(nowMs / 1_000)])
    const id = `${PREFIX}${this.#sealing.token(PURPOSE, Buffer.from(text))}`
    return id.length > LONGEST_ID ? undefined : id
  }

  open(id: string): RegisteredClient | undefined {
    if (!id.startsWith(PREFIX) || id.length > LONGEST_ID) return undefined
    const bytes = this.#sealing.openToken(PURPOSE, id.slice(PREFIX.length))
    if (!bytes) return undefined
    const [name, redirectUris, method] = JSON.parse(Buffer.from(bytes).toString()) as [string, string[], number]
    return { name, redirectUris, method: METHODS[method] ?? 'none' }
  }

  /** The secret that belongs to an id. */
  secretOf(id: string): string {
    return this.#secrets(id)[0] as string
  }

  isSecretOf(id: string, secret: string): boolean {
    return this.#secrets(id).some(own => {
      const [a, b] = [Buffer.from(own), Buffer.from(secret)]
      return a.length === b.length && timingSafeEqual(a, b)
    })
  }

  #secrets(id: string): readonly string[] {
    return this.#sealing
      .keys('client secret')
      .map(({ key }) => createHmac('sha256', key).update(id).digest('base64url'))
  }
}

/** True for an id that only a registration has. */
export function isSealedId(id: string): boolean {
  return id.startsWith(PREFIX)
}
