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
import { addServer } from './add-server.ts'
import { alerts } from './alerts.ts'
import { assistant } from './assistant.ts'
import { audit } from './audit.ts'
import { chart } from './chart.ts'
import { common } from './common.ts'
import { dashboard } from './dashboard.ts'
import { editor } from './editor.ts'
import { figures } from './figures.ts'
import { group } from './group.ts'
import { groups } from './groups.ts'
import { monitoring } from './monitoring.ts'
import { moving } from './moving.ts'
import { patchBay } from './patch-bay.ts'
import { keys } from './people/keys.ts'
import { setup } from './people/setup.ts'
import { sharing } from './people/sharing.ts'
import { signIn } from './people/sign-in.ts'
import { users } from './people/users.ts'
import { plugins } from './plugins.ts'
import { reference } from './reference.ts'
import { schemaForm } from './schema-form.ts'
import { server } from './server.ts'
import { servers } from './servers.ts'
import { settings } from './settings.ts'

/** All Chinese texts by their English, in the form that the localization library loads. */
export const templates: Record<string, string> = {
  ...addServer,
  ...alerts,
  ...approvals,
  ...apps,
  ...assistant,
  ...audit,
  ...bundles,
  ...chart,
  ...common,
  ...connections,
  ...dashboard,
  ...editor,
  ...factors,
  ...figures,
  ...group,
  ...groups,
  ...guards,
  ...invitations,
  ...keys,
  ...logs,
  ...market,
  ...monitoring,
  ...moving,
  ...patchBay,
  ...plugins,
  ...reference,
  ...schemaForm,
  ...server,
  ...servers,
  ...settings,
  ...setup,
  ...sharing,
  ...signIn,
  ...usage,
  ...users,
}
