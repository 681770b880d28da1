import alertChat from '../../plugins/alert-chat/plugin.ts'
import alertEmail from '../../plugins/alert-email/plugin.ts'
import alertWebhook from '../../plugins/alert-webhook/plugin.ts'
import clientConfig from '../../plugins/client-config/plugin.ts'
import groups from '../../plugins/groups/plugin.ts'
import resultLimits from '../../plugins/result-limits/plugin.ts'
import transportHttp from '../../plugins/transport-http/plugin.ts'
import transportOpenapi from '../../plugins/transport-openapi/plugin.ts'
import transportSse from '../../plugins/transport-sse/plugin.ts'
import transportStdio from '../../plugins/transport-stdio/plugin.ts'
import { LIMITS } from '../config/limits.ts'

/** The plugins that come with the hub, in starting order. */
export const BUNDLED = [
  transportStdio,
  transportHttp,
  transportSse,
  transportOpenapi,
  groups,
  resultLimits(LIMITS),
  clientConfig,
  alertWebhook,
  alertChat,
  alertEmail,
]
