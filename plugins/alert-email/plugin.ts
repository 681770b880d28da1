import { definePlugin } from 'patchbay/contract'
import { emailChannel } from './email.ts'

/** Sends alerts as mail through an SMTP server that an administrator names. */
export default definePlugin({
  name: 'alert-email',
  contract: 1,
  setup(context) {
    context.contribute('notificationChannel', 'email', emailChannel)
    return undefined
  },
})
