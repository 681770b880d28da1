/** A connection of two things in neighbouring columns. */
export interface Edge {
  readonly from: string
  readonly to: string
}

interface Placed {
  readonly id: string
  readonly name: string
}

/** Number of passes over the columns; further passes hardly change the order. */
const SWEEPS = 4

/**
 * Columns in an order in which few connections cross: each node at the mean place of its neighbours. While a column has the same
 * nodes as before it keeps its order, so that nothing jumps.
 */
export function ordered<T extends Placed>(
  columns: readonly (readonly T[])[],
  edges: readonly Edge[],
  before: readonly (readonly Placed[])[] | undefined,
): T[][] {
  const kept = before?.every((column, at) => sameIds(column, columns[at] ?? []))
  if (before && kept) {
    return columns.map((column, at) => {
      const places = placesOf(before[at] ?? [])
      return [...column].sort((a, b) => (places.get(a.id) ?? 0) - (places.get(b.id) ?? 0))
    })
  }
  const neighbours = new Map<string, string[]>()
  for (const { from, to } of edges) {
    neighbours.set(from, [...(neighbours.get(from) ?? []), to])
    neighbours.set(to, [...(neighbours.get(to) ?? []), from])
  }
  const sorted = columns.map(column => [...column].sort((a, b) => a.name.localeCompare(b.name)))
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const order = sweep % 2 === 0 ? sorted.keys() : [...sorted.keys()].reverse()
    for (const at of order) sortByNeighbours(sorted, at, neighbours)
  }
  return sorted
}

function sortByNeighbours<T extends Placed>(
  columns: T[][],
  at: number,
  neighbours: ReadonlyMap<string, readonly string[]>,
): void {
  const around = new Map<string, number>()
  for (const other of [at - 1, at + 1]) {
    const column = columns[other] ?? []
    for (const [place, { id }] of column.entries()) around.set(id, (place + 0.5) / column.length)
  }
  const column = columns[at] ?? []
  const mean = new Map(
    column.map(({ id }, place) => {
      const places = (neighbours.get(id) ?? []).flatMap(other => around.get(other) ?? [])
      // Nodes without connections are placed at the end.
      if (places.length === 0) return [id, 2 + place / column.length]
      return [id, places.reduce((sum, each) => sum + each, 0) / places.length]
    }),
  )
  column.sort((a, b) => (mean.get(a.id) ?? 0) - (mean.get(b.id) ?? 0))
}

function sameIds(left: readonly Placed[], right: readonly Placed[]): boolean {
  const ids = new Set(left.map(({ id }) => id))
  return ids.size === right.length && right.every(({ id }) => ids.has(id))
}

function placesOf(column: readonly Placed[]): ReadonlyMap<string, number> {
  return new Map(column.map(({ id }, place) => [id, place]))
}
