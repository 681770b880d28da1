import * as contract from '../contract/mod.ts'
import * as transportKit from './mod.ts'

/**
 * Makes `patchbay/contract` and `patchbay/transport-kit` resolvable for plugin files outside the repository, in the
 * calling thread. Inside the repository the package's own `exports` are used.
 */
export function registerPluginModules(): void {
  Bun.plugin({
    name: 'patchbay',
    setup(build) {
      build.module('patchbay/contract', () => ({ exports: { ...contract }, loader: 'object' }))
      build.module('patchbay/transport-kit', () => ({ exports: { ...transportKit }, loader: 'object' }))
    },
  })
}
