/** Clients of every kind that take all descriptors: the hub keeps some back from the first moment, and answers others. */
import { describe, test } from 'bun:test'
import { KINDS, type KindName, survives } from '../support/descriptor-flood.ts'
import { extent } from '../support/extent.ts'

const LIMITS = extent([256], [96, 128, 256, 512, 1024])
const ALL = Object.keys(KINDS) as KindName[]
/** Whose clients need no credential. */
const STRANGERS: readonly KindName[] = [
  'connections without a request',
  'half requests',
  'requests whose heads drip',
  'requests that keep their connection',
]

for (const limit of LIMITS) {
  describe(`with ${limit} descriptors the hub lives and answers others`, () => {
    test.each(ALL)('while a user takes them: %s', kind => survives(limit, kind, true), 120_000)
    test.each(STRANGERS)(
      'while they are taken before the first sign-in: %s',
      kind => survives(limit, kind, false),
      120_000,
    )
  })
}
