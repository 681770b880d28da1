import { definePlugin } from 'patchbay/contract'
import { webhookChannel } from './webhook.ts'

/** Sends alerts as signed JSON to an address of their owner’s choice. */
export default definePlugin({
  name: 'alert-webhook',
  contract: 1,
  setup(context) {
    context.contribute('notificationChannel', 'webhook', webhookChannel)
    return undefined
  },
})
