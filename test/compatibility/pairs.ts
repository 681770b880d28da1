import type { Client } from '../support/hub.ts'
import type { ClientKind } from './axes.ts'
import { type Manner, newerPeer, olderPeer, type Peer } from './peers.ts'
import type { Upstream } from './upstreams.ts'

export type Pair = readonly [ann: Peer, bob: Peer]

/** `asked`: clients that can be asked; `own`: the same, each on a connection of its own. */
type Sort = 'plain' | 'asked' | 'own'

/** Two clients of a kind at one upstream at once. Neither may receive anything that belongs to the other. */
export class Pairs implements AsyncDisposable {
  readonly #admin: Client
  readonly #client: ClientKind
  readonly #upstream: Upstream
  readonly #opened = new Map<Sort, Promise<Pair>>()

  constructor(admin: Client, client: ClientKind, upstream: Upstream) {
    this.#admin = admin
    this.#client = client
    this.#upstream = upstream
  }

  /** The same two for all who want them, since each may cost a process of its own. */
  open(sort: Sort): Promise<Pair> {
    const known = this.#opened.get(sort)
    if (known !== undefined) return known
    const pair = Promise.all([this.#one('ann', sort), this.#one('bob', sort)])
    this.#opened.set(sort, pair)
    return pair
  }

  async end(sort: Sort): Promise<void> {
    const opened = this.#opened.get(sort)
    this.#opened.delete(sort)
    const pair = await opened?.catch(() => undefined)
    await Promise.allSettled(pair?.map(peer => peer.close()) ?? [])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all((['plain', 'asked', 'own'] as const).map(sort => this.end(sort)))
  }

  async #one(name: string, sort: Sort): Promise<Peer> {
    const asked = sort !== 'plain'
    const { place: plain, askingPlace, ownPlace } = this.#upstream
    const place = { plain, asked: askingPlace, own: ownPlace }[sort]
    const peer = await connect(this.#admin, this.#client, { name, path: place.name, asked })
    return {
      ...peer,
      call: (tool, args, options) => peer.call(place.tool(tool), args, options),
      subscribe: uri => peer.subscribe(place.uri(uri)),
      unsubscribe: uri => peer.unsubscribe(place.uri(uri)),
    }
  }
}

/** A client of this kind at the place of that name. */
export function connect(
  admin: Client,
  { wire, version }: ClientKind,
  { name, path, asked = false }: { readonly name: string; readonly path: string; readonly asked?: Manner },
): Promise<Peer> {
  if (wire === 'sse') return olderPeer(admin, true, { name, path: `/sse/${path}`, asked })
  if (version === '2025-11-25') return olderPeer(admin, false, { name, path: `/mcp/${path}`, asked })
  return newerPeer(admin, version, { name, path: `/mcp/${path}`, asked })
}
