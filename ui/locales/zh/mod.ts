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

/** Chinese texts of the console by their English, in the form that the localization library loads. */
export const templates: Record<string, string> = {
  ...addServer,
  ...alerts,
  ...assistant,
  ...audit,
  ...chart,
  ...common,
  ...dashboard,
  ...editor,
  ...figures,
  ...group,
  ...groups,
  ...keys,
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
  ...users,
}
