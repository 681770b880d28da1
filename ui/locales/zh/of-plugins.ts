import { approvals } from '../../../plugins/approvals/console/words.zh.ts'
import { bundles } from '../../../plugins/bundles/console/words.zh.ts'
import { guards } from '../../../plugins/guards/console/words.zh.ts'
import { invitations } from '../../../plugins/invitations/console/words.zh.ts'
import { logs } from '../../../plugins/log-database/console/words.zh.ts'
import { market } from '../../../plugins/market/console/words.zh.ts'
import { connections } from '../../../plugins/oauth-client/console/words.zh.ts'
import { apps } from '../../../plugins/oauth-server/console/words.zh.ts'
import { usage } from '../../../plugins/quotas/console/words.zh.ts'
import { factors } from '../../../plugins/sign-in/console/words.zh.ts'

/** Chinese texts of the plugins' pages by their English. They are a file of their own, since both together are large. */
export const templatesOfPlugins: Record<string, string> = {
  ...approvals,
  ...apps,
  ...bundles,
  ...connections,
  ...factors,
  ...guards,
  ...invitations,
  ...logs,
  ...market,
  ...usage,
}
