import { createHash } from 'node:crypto'
import type { JsonObject } from 'patchbay/contract'
import type { OAuthServerConfig } from './config.ts'
import { type ClientDocuments, isDocumentId } from './documents.ts'
import type { Fail } from './errors.ts'
import { isUsable } from './redirects.ts'
import { isSealedId, type SealedClients } from './sealed-clients.ts'
import type { ClientKind, ClientMethod, ListedRow, Tables } from './tables.ts'

/** A client that asks for access. */
export interface Client {
  readonly id: string
  /** At most 60 characters, all of them visible. */
  readonly name: string
  readonly kind: ClientKind
  /** Host of the id, for a client with a document: the only part of it that nobody else can have. */
  readonly host: string | undefined
  readonly redirectUris: readonly string[]
  readonly method: ClientMethod
  /** Public keys of a client with a document, or their address. */
  readonly keys?: JsonObject | string | undefined
}

interface ClientDeps {
  readonly tables: Tables
  readonly sealed: SealedClients
  readonly documents: ClientDocuments
  readonly config: OAuthServerConfig
  readonly fail: Fail
}

const LONGEST_NAME = 60
/** Control and format characters, separators other than the blank, and what has no character. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]+/gu

/** Finds the clients of requests. */
export class Clients {
  readonly #deps: ClientDeps

  constructor(deps: ClientDeps) {
    this.#deps = deps
  }

  /** Throws `client_refused`, `client_blocked`. `userId`: the signed-in user in whose rights a document is fetched. */
  async resolve(id: string, userId: string): Promise<Client> {
    if (await this.isBlocked(id)) throw this.#deps.fail('client_blocked', 'An administrator has blocked this client')
    const { documents, fail, config } = this.#deps
    if (isDocumentId(id)) {
      const { name, ...rest } = await documents.read(id, userId)
      return { id, kind: 'document', host: new URL(id).host, name: shownName(name), ...rest }
    }
    const registered = this.registered(id)
    if (registered) {
      const redirectUris = registered.redirectUris.filter(uri => isUsable(uri, config))
      return { id, kind: 'registered', host: undefined, ...registered, redirectUris }
    }
    const listed = isSealedId(id) ? undefined : await this.listed(id)
    if (!listed)
      throw fail('client_refused', 'There is no such client; it may have registered at another address of this hub')
    const redirectUris = (JSON.parse(listed.redirect_uris) as string[]).filter(uri => isUsable(uri, config))
    return { id, kind: 'listed', host: undefined, name: listed.name, redirectUris, method: listed.method }
  }

  /** A client that registered itself; none while registration is off. */
  registered(id: string): { readonly name: string; redirectUris: readonly string[]; method: ClientMethod } | undefined {
    const opened = this.#deps.sealed.open(id)
    return opened && { ...opened, name: shownName(opened.name) }
  }

  listed(id: string): Promise<ListedRow | undefined> {
    return this.#deps.tables.read(db => db.selectFrom('clients').selectAll().where('id', '=', id).executeTakeFirst())
  }

  async isBlocked(id: string): Promise<boolean> {
    const found = await this.#deps.tables.read(db =>
      db.selectFrom('blocks').select('hash').where('hash', '=', hashOf(id)).executeTakeFirst(),
    )
    return found !== undefined
  }
}

/** The short form of a client's id, for lists and paths. */
export function hashOf(clientId: string): string {
  return createHash('sha256').update(clientId).digest('base64url').slice(0, 22)
}

/** A name as it is shown: without what cannot be seen or turns the direction of what follows, and not long. */
export function shownName(name: string): string {
  const shown = name.normalize('NFC').replace(HIDDEN, ' ').replace(/\s+/g, ' ').trim()
  return [...(shown === '' ? 'A client without a name' : shown)].slice(0, LONGEST_NAME).join('')
}
