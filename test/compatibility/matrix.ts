import type { Client } from '../support/hub.ts'
import { type ClientKind, type Feature, type Outcome, ROUNDS, triedClientsOf, type UpstreamKind } from './axes.ts'
import { type Cell, SCENARIOS } from './cells.ts'
import { Pairs } from './pairs.ts'
import type { Upstream, World } from './upstreams.ts'

/** The result of one cell; `failed: …` if it was neither the feature nor a refusal of it. */
export interface Found {
  readonly client: ClientKind
  readonly upstream: UpstreamKind
  readonly feature: Feature
  readonly outcome: Outcome
}

/** Tries the part of the page that the suite covers. */
export async function runMatrix({ admin, upstreams }: World): Promise<readonly Found[]> {
  const chains = upstreams.map(upstream => runUpstream(admin, upstream, triedClientsOf(upstream.kind)))
  return (await Promise.all(chains)).flat()
}

/** Runs every cell of these clients with one upstream, one after the other, so that only the two clients of a cell affect it. */
export async function runUpstream(
  admin: Client,
  upstream: Upstream,
  clients: readonly ClientKind[],
): Promise<readonly Found[]> {
  const found: Found[] = []
  for (const [round, features] of ROUNDS.entries())
    for (const [row, client] of clients.entries()) {
      await using pairs = new Pairs(admin, client, upstream)
      for (const [at, feature] of features.entries()) {
        const cell: Cell = { client, upstream, pairs, key: `${upstream.kind.id}_${row}_${round}_${at}` }
        const outcome = await SCENARIOS[feature](cell).catch((error: Error) => `failed: ${error.message}`)
        await pairs.end('plain')
        found.push({ client, upstream: upstream.kind, feature, outcome })
      }
    }
  return found
}
