import { type ClientKind, type Feature, ORDER, type Outcome, type UpstreamKind } from './axes.ts'
import { Cell, SCENARIOS } from './cells.ts'
import type { World } from './upstreams.ts'

/** What was found in one cell; `problem` where it was neither the feature nor a refusal of it. */
export interface Found {
  readonly client: ClientKind
  readonly upstream: UpstreamKind
  readonly feature: Feature
  readonly outcome: Outcome
  readonly ms: number
}

/**
 * Every cell of these clients with all upstreams of the world. The upstreams are tried side by side, and each by one cell
 * at a time, so that nothing but the cell's own two clients moves it.
 */
export async function runMatrix(
  { admin, upstreams }: World,
  clients: readonly ClientKind[],
): Promise<readonly Found[]> {
  const chains = upstreams.map(async (upstream, column) => {
    const found: Found[] = []
    for (const [at, feature] of ORDER.entries())
      for (const [row, client] of clients.entries()) {
        const cell = new Cell(admin, client, upstream, `c${column}_${row}_${at}`)
        const start = performance.now()
        const outcome = await SCENARIOS[feature](cell).catch((error: Error) => `failed: ${error.message}`)
        await cell.close()
        found.push({ client, upstream: upstream.kind, feature, outcome, ms: performance.now() - start })
      }
    return found
  })
  return (await Promise.all(chains)).flat()
}
