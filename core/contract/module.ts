import * as contract from './mod.ts'

/**
 * Makes `patchbay/contract` resolvable for plugin files outside the repository, in the thread that calls it. Inside the
 * repository the package's own `exports` serve.
 */
export function registerContractModule(): void {
  Bun.plugin({
    name: 'patchbay-contract',
    setup(build) {
      build.module('patchbay/contract', () => ({ exports: { ...contract }, loader: 'object' }))
    },
  })
}
