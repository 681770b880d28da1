/** Limit of one page. */
const MOST_CHARACTERS = 1024 * 1024

/** A page of items from `offset`: at most `limit` of them, and fewer, but at least one, beyond 1 MiB of characters. */
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
