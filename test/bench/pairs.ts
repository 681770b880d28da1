/** Two hubs that differ in one thing, or what was measured with them. */
export interface Pair<Each> {
  readonly off: Each
  readonly on: Each
}

/**
 * Measures as many pairs of hubs, each hub from its start to its end by itself: of several that wait for their turns the runtime throws
 * compiled code away meanwhile, and then compiles it anew beside the calls. Off and on come in the order off, on, on, off, so that a
 * machine which grows slower or faster favours neither.
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
