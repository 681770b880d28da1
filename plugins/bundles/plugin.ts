import { definePlugin } from 'patchbay/contract'
import { commands } from './commands.ts'
import { createBundles } from './create.ts'
import { ERRORS, FIELD_CODES } from './errors.ts'
import { addBundleRoutes } from './routes.ts'
import { bundlePrograms, FIELD_SCHEMA } from './source.ts'
import { BundleStore, FIELD } from './store.ts'
import { type BundleTables, migrations } from './tables.ts'
import type { BundleLimits } from './types.ts'
import { words } from './words.zh.ts'

const MIB = 1024 * 1024

/** Bundles of servers (MCPB): users send them, and install them as servers that run inside the sandbox. */
export default definePlugin({
  name: 'bundles',
  contract: 1,
  claims: ['/api/bundles', '/api/bundles/*'],
  programs: { [FIELD]: { schema: FIELD_SCHEMA, folder: 'bundles' } },
  commands,
  errors: ERRORS,
  fieldCodes: FIELD_CODES,
  limits: { bundlesPerUser: 10, bundleBytes: 64 * MIB, diskBytesPerUser: 1_024 * MIB },
  words,
  migrations,
  async setup(context) {
    const { servers, people, routes, audit } = context
    const limits = context.limits as BundleLimits
    const store = new BundleStore({ tables: context.tables<BundleTables>(), servers, people, limits })
    await store.sweepParts()
    const bundles = createBundles({ store, servers, platform: process.platform })
    context.contribute('programSource', FIELD, bundlePrograms(store))
    context.contribute('limitUse', 'bundles', {
      of: async ({ userId }) => ({
        bundlesPerUser: (await store.list(userId)).length,
        diskBytesPerUser: await store.diskBytes(userId),
      }),
    })
    context.contribute('builtPage', 'bundles', { access: 'user' })
    addBundleRoutes(routes, { bundles, servers, audit, limits })
    return undefined
  },
})
