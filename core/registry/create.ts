import type { FileMirror, Registry } from './api.ts'
import { Audit } from './audit.ts'
import type { RegistryDeps } from './context.ts'
import { Groups } from './groups/groups.ts'
import { Keys } from './people/keys.ts'
import { Users } from './people/users.ts'
import { Servers } from './servers/servers.ts'
import { Settings } from './settings.ts'
import { createMirror } from './settings-file/mirror.ts'

/** A registry with the parts that only the composition root uses. */
export interface OpenRegistry {
  readonly registry: Registry
  readonly mirror: FileMirror
  /** Writes pending records and stops the timers. The store stays open. */
  close(): Promise<void>
}

/** Builds the registry on an open store. Reads and writes nothing by itself. */
export function createRegistry(deps: RegistryDeps): OpenRegistry {
  const keys = new Keys(deps)
  const audit = new Audit(deps)
  return {
    registry: {
      servers: new Servers(deps),
      groups: new Groups(deps),
      users: new Users(deps),
      keys,
      settings: new Settings(deps),
      audit,
    },
    mirror: createMirror(deps),
    async close() {
      await Promise.all([keys.close(), audit.close()])
    },
  }
}
