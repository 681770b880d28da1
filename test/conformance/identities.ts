import { definePlugin } from 'patchbay/contract'
import { z } from 'zod'
import type {} from '../../plugins/oauth-client/types.ts'

const config = z.strictObject({ issuer: z.string(), token: z.string() })

/** Has one identity token of one provider, for every user. */
export default definePlugin<z.infer<typeof config>>({
  name: 'identities',
  contract: 1,
  config,
  needs: ['oauth-client'],
  setup(context) {
    const { issuer, token } = context.config
    context.contribute('tokenGrant', 'identities', {
      subjectToken: async (_userId, asked) =>
        asked === issuer ? { token, type: 'urn:ietf:params:oauth:token-type:id_token' } : undefined,
    })
    return undefined
  },
})
