/** Two hubs that differ in one thing, or what was measured with them. */
export interface Pair<Each> {
  readonly off: Each
  readonly on: Each
}

/**
 * Measures this many pairs of hubs. Only one hub runs at a time: while a hub waits for its turn, the runtime discards its
 * compiled code and later compiles it again beside the calls. The order is off, on, on, off, so that a machine that grows
 * slower or faster favours neither.
 */
export async function measurePairs<Result>(
  pairs: number,
  measure: (isOn: boolean) => Promise<Result>,
): Promise<readonly Pair<Result>[]> {
  const found: Pair<Result>[] = []
  for (let n = 0; n < pairs; n += 1) {
    const isOnFirst = n % 2 === 1
    const [one, other] = [await measure(isOnFirst), await measure(!isOnFirst)]
    found.push(isOnFirst ? { off: other, on: one } : { off: one, on: other })
  }
  return found
}
