import type { Together } from '../store/transact.ts'
import type { FileMirror, Registry } from './api.ts'
import { OpenAttached } from './attached.ts'
import { Audit } from './audit.ts'
import type { RegistryDeps } from './context.ts'
import { Groups } from './groups/groups.ts'
import { Keys } from './people/keys.ts'
import { Users } from './people/users.ts'
import { Servers } from './servers/servers.ts'
import { Settings } from './settings.ts'
import { createMirror } from './settings-file/mirror.ts'
import { ShareMap } from './share-map.ts'
import { Shares } from './shares/shares.ts'
import { Teams } from './shares/teams.ts'

/** A registry with the parts that only the composition root uses. */
export interface OpenRegistry {
  readonly registry: Registry
  readonly mirror: FileMirror
  /** Settings of plugins beside servers, groups, users and keys. */
  readonly attached: OpenAttached
  /** Loads all shares and teams into memory. Must be called before any right is checked. */
  load(): Promise<void>
  /** Runs the registry within a transaction and emits its events after the commit. What the settings file holds cannot be changed, and selectors are not checked. */
  within(together: Together): TogetherParts
  /** Writes pending records and stops the timers. The store stays open. */
  close(): Promise<void>
}

/** The registry within one transaction; the audit is written on its own. */
export interface TogetherParts extends Together {
  readonly registry: Pick<Registry, 'servers' | 'groups' | 'users' | 'keys' | 'settings' | 'shares' | 'teams'>
}

/** Builds the registry on an open store. Reads and writes nothing by itself. */
export function createRegistry(given: Omit<RegistryDeps, 'shares' | 'attached'>): OpenRegistry {
  const deps: RegistryDeps = { ...given, shares: new ShareMap(), attached: new OpenAttached() }
  const keys = new Keys(deps)
  const audit = new Audit(deps)
  return {
    registry: {
      servers: new Servers(deps),
      groups: new Groups(deps),
      users: new Users(deps),
      keys,
      shares: new Shares(deps),
      teams: new Teams(deps),
      settings: new Settings(deps),
      audit,
    },
    mirror: createMirror(deps),
    attached: deps.attached,
    load: () => deps.shares.load(deps.store),
    within: together => {
      const { store } = together
      const { fileWriter: _, checkGroup: __, ...others } = deps
      const joined = { ...others, store }
      const registry = {
        ...{ servers: new Servers(joined), groups: new Groups(joined), users: new Users(joined) },
        ...{ keys: new Keys(joined), settings: new Settings(joined), shares: new Shares(joined) },
        teams: new Teams(joined),
      }
      return { ...together, registry }
    },
    async close() {
      await Promise.all([keys.close(), audit.close()])
    },
  }
}
