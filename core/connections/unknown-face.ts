import type { UpstreamFace } from './api.ts'

/** The side of a server that is not held here. */
export const UNKNOWN_FACE: UpstreamFace = {
  ...{ side: 'legacy', era: 'legacy', serverRequests: [], tools: [], known: true, listed: 0, probing: undefined },
  toolsFor: () => undefined,
  ready: () => undefined,
}
