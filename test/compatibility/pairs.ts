import type { Client } from '../support/hub.ts'
import type { ClientKind } from './axes.ts'
import { type Manner, newerPeer, olderPeer, type Peer } from './peers.ts'
import type { Upstream } from './upstreams.ts'

export type Pair = readonly [ann: Peer, bob: Peer]

/** Two clients of a kind at one upstream at once. Neither may receive anything that belongs to the other. */
export class Pairs implements AsyncDisposable {
  readonly #admin: Client
  readonly #client: ClientKind
  readonly #upstream: Upstream
  readonly #opened = new Map<'plain' | 'asked', Promise<Pair>>()

  constructor(admin: Client, client: ClientKind, upstream: Upstream) {
    this.#admin = admin
    this.#client = client
    this.#upstream = upstream
  }

  /** `asked`: two that can be asked, the same for all who want them, since each may cost a process of its own. */
  open(sort: 'plain' | 'asked'): Promise<Pair> {
    const known = this.#opened.get(sort)
    if (known !== undefined) return known
    const pair = Promise.all([this.#one('ann', sort), this.#one('bob', sort)])
    this.#opened.set(sort, pair)
    return pair
  }

  async end(sort: 'plain' | 'asked'): Promise<void> {
    const opened = this.#opened.get(sort)
    this.#opened.delete(sort)
    const pair = await opened?.catch(() => undefined)
    await Promise.allSettled(pair?.map(peer => peer.close()) ?? [])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.end('plain'), this.end('asked')])
  }

  async #one(name: string, sort: 'plain' | 'asked'): Promise<Peer> {
    const asked = sort === 'asked'
    const place = asked ? this.#upstream.askingPlace : this.#upstream.place
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
