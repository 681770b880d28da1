import { bundles } from '../../../plugins/bundles/console/words.zh.ts'
import { market } from '../../../plugins/market/console/words.zh.ts'
import { connections } from '../../../plugins/oauth-client/console/words.zh.ts'
import { apps } from '../../../plugins/oauth-server/console/words.zh.ts'
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
import { guards } from './guards.ts'
import { logs } from './logs.ts'
import { monitoring } from './monitoring.ts'
import { patchBay } from './patch-bay.ts'
import { approvals } from './people/approvals.ts'
import { keys } from './people/keys.ts'
import { setup } from './people/setup.ts'
import { signIn } from './people/sign-in.ts'
import { usage } from './people/usage.ts'
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
  ...apps,
  ...assistant,
  ...audit,
  ...bundles,
  ...chart,
  ...common,
  ...approvals,
  ...connections,
  ...usage,
  ...dashboard,
  ...editor,
  ...factors,
  ...figures,
  ...group,
  ...groups,
  ...guards,
  ...keys,
  ...logs,
  ...market,
  ...monitoring,
  ...patchBay,
  ...plugins,
  ...reference,
  ...schemaForm,
  ...server,
  ...servers,
  ...settings,
  ...setup,
  ...signIn,
  ...users,
}
