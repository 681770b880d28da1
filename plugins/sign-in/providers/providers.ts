import type { GuardedFetch } from 'patchbay/contract'
import type { SignInConfig } from '../config.ts'
import type { Fail } from '../errors.ts'
import { FORWARDED } from './forwarded.ts'
import { GitHub } from './github.ts'
import { OidcProvider } from './oidc.ts'
import type { Provider } from './provider.ts'

/** The providers of the configuration, by id. Throws Error for one that cannot be used, so that the plugin does not start. */
export function openProviders(
  { providers, forwarded }: SignInConfig,
  fetch: GuardedFetch,
  fail: Fail,
): ReadonlyMap<string, Provider> {
  const opened = new Map<string, Provider>()
  for (const config of providers) {
    if (opened.has(config.id)) throw new Error(`"providers" has the id "${config.id}" twice`)
    if (config.id === FORWARDED && forwarded?.groups !== undefined)
      throw new Error(`"providers" has the id "${FORWARDED}", which is that of the groups in a header`)
    opened.set(
      config.id,
      config.kind === 'github' ? new GitHub(config, fetch, fail) : new OidcProvider(config, fetch, fail),
    )
  }
  return opened
}
