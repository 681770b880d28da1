import { definePlugin } from 'patchbay/contract'
import { chatChannel } from './chat.ts'

/** Sends alerts to chat services by their incoming webhooks. */
export default definePlugin({
  name: 'alert-chat',
  contract: 1,
  setup(context) {
    context.contribute('notificationChannel', 'chat', chatChannel)
    return undefined
  },
})
