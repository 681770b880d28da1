import type { ScopeTool } from 'patchbay/features'

/** Constant of reciprocal rank fusion, with its usual value: a larger one reduces the weight of the first places. */
const K = 60

/** Tools in the order of two lists together: each place adds 1 / (60 + place). Equal ones stay in the order of the first list. */
export function fuse(one: readonly ScopeTool[], other: readonly ScopeTool[]): readonly ScopeTool[] {
  const scores = new Map<ScopeTool, number>()
  for (const list of [one, other])
    list.forEach((tool, at) => void scores.set(tool, (scores.get(tool) ?? 0) + 1 / (K + at + 1)))
  return [...scores].sort(([, left], [, right]) => right - left).map(([tool]) => tool)
}
