import * as contract from '../contract/mod.ts'
import * as transportKit from './mod.ts'

/**
 * Makes `patchbay/contract`, `patchbay/transport-kit` and the modules in `more`, by their names, resolvable for plugin files outside the
 * repository, in the calling thread. Inside the repository the package's own `exports` are used.
 */
export function registerPluginModules(more: Readonly<Record<string, object>> = {}): void {
  Bun.plugin({
    name: 'patchbay',
    setup(build) {
      const modules = { 'patchbay/contract': contract, 'patchbay/transport-kit': transportKit, ...more }
      for (const [name, module] of Object.entries(modules))
        build.module(name, () => ({ exports: { ...module }, loader: 'object' }))
    },
  })
}
