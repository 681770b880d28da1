import { definePlugin } from 'patchbay/contract'
import { z } from 'zod'
import { Broker } from './broker.ts'
import { first, heldTokens } from './credentials/tables.ts'
import { ERRORS } from './errors.ts'
import { checkBrought } from './fields/check-brought.ts'
import { Connect } from './flows/connect.ts'
import { followServers } from './flows/ended-servers.ts'
import { LIMITS } from './limits.ts'
import { addRoutes } from './routes.ts'
import { serverFields } from './server-fields.ts'
import { Revocations } from './tokens/revocations.ts'
import type {} from './types.ts'
import { words } from './words.zh.ts'

const config = z.strictObject({
  clientMetadataUrl: z
    .url({ protocol: /^https$/ })
    .optional()
    .meta({
      title: 'Client metadata document',
      description: 'A document about this hub elsewhere, where its own address is not reachable from outside.',
      'x-zh': { title: '客户端元数据文档', description: '当 hub 自身地址无法从外部访问时，放在别处的说明文档。' },
    }),
})

/** Between two looks for tokens to refresh, in milliseconds. */
const LOOK_MS = 5_000

/** Signs in at servers that want OAuth, for each user, and keeps the tokens fresh. */
export default definePlugin<z.infer<typeof config>>({
  name: 'oauth-client',
  contract: 1,
  config,
  section: { name: 'oauth', members: Object.keys(config.shape) },
  serverFields,
  claims: [
    '/api/connections/*',
    '/api/servers/{ref}/connect',
    '/api/servers/{ref}/connections/me',
    '/oauth/client-metadata.json',
  ],
  limits: LIMITS,
  errors: ERRORS,
  words,
  points: { tokenGrant: { main: true } },
  migrations: { '0001-sign-ins': first, '0002-held-tokens': heldTokens },
  setup(context) {
    const broker = new Broker(context)
    const connect = new Connect(context, broker)
    context.contribute('credentialSource', 'oauth-client', broker)
    for (const id of Object.keys(serverFields)) context.contribute('serverFields', id, { check: checkBrought })
    addRoutes(context, broker, connect)
    context.contribute('builtPage', 'connections', { access: 'user' })
    context.jobs.every(LOOK_MS, () => broker.refresher.due())
    const revocations = new Revocations(context, broker.store.held)
    context.jobs.every(LOOK_MS, () => revocations.due())
    followServers(context, broker.store)
    return undefined
  },
})
