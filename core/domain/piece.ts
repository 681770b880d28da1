/** What of a list is shown at once. */
const MOST_CHARACTERS = 1024 * 1024

/** The items from `offset` on: `limit` of them, or fewer, but at least one, where they have more than 1 MiB characters. */
export function pieceOf<T>(
  items: readonly T[],
  offset: number,
  limit: number,
  charactersOf: (item: T) => number,
): readonly T[] {
  let characters = 0
  const piece: T[] = []
  for (const item of items.slice(offset, offset + limit)) {
    characters += charactersOf(item)
    if (piece.length > 0 && characters > MOST_CHARACTERS) break
    piece.push(item)
  }
  return piece
}
