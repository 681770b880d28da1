import { definePlugin, type JsonObject } from 'patchbay/contract'
import { z } from 'zod'
import { checkPluginConfig, type EmailPluginConfig } from './config.ts'
import { emailChannel } from './email.ts'

const config = z.record(z.string(), z.json()).transform((block, context): EmailPluginConfig => {
  for (const { pointer, detail } of checkPluginConfig(block as JsonObject))
    context.addIssue({ code: 'custom', path: pointer.slice(2).split('/'), message: detail })
  return block as EmailPluginConfig
})

/** Sends alerts as mail through an SMTP server that an administrator names. */
export default definePlugin<EmailPluginConfig>({
  name: 'alert-email',
  contract: 1,
  config: config.default({}),
  setup(context) {
    context.contribute('notificationChannel', 'email', emailChannel(context.config))
    return undefined
  },
})
