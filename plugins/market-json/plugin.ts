import { definePlugin } from 'patchbay/contract'
import { z } from 'zod'
import { newestVersion } from './newest-version.ts'
import { catalogueSource } from './source.ts'

const HOUR_MS = 3_600_000
const address = z.url({ protocol: /^https?$/ }).max(2_048)

const config = z.strictObject({
  /** JSON files of templates, by the name of their source. */
  catalogues: z
    .record(
      z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/),
      z.strictObject({
        url: address,
        sha256: z
          .string()
          .regex(/^[0-9a-fA-F]{64}$/)
          .optional(),
        /** How old a list may get before it is read again. */
        refreshHours: z.number().min(1).max(8_760).default(24),
      }),
    )
    .default({})
    .refine(all => Object.keys(all).length <= 10, 'at most 10 catalogues'),
  /** Where the newest version of a package is asked for that an entry names without one. */
  npm: address.default('https://registry.npmjs.org'),
  pypi: address.default('https://pypi.org'),
})

/** Templates from JSON catalogues. Without a configured one it sends nothing. */
export default definePlugin<z.infer<typeof config>>({
  name: 'market-json',
  contract: 1,
  config,
  setup({ config: { catalogues, npm, pypi }, fetch, contribute }) {
    for (const [id, { refreshHours, ...more }] of Object.entries(catalogues)) {
      const catalogue = { ...more, refreshMs: refreshHours * HOUR_MS }
      const pin = (variant: Parameters<typeof newestVersion>[0], signal: AbortSignal) =>
        newestVersion(variant, { npm, pypi }, fetch, signal)
      contribute('marketSource', id, catalogueSource(catalogue, fetch, pin))
    }
    return undefined
  },
})
